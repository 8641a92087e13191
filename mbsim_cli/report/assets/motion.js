// The mechanism in space: bodies, springs, tyres, ground, roads, meshes that deform, arrows of forces; the clock that moves it.

const WHITE = [0.93, 0.93, 0.93];

class Mechanism {
  constructor(motion, histories) {
    this.motion = motion;
    this.histories = histories;
    this.time = numbers(motion.time).values;
    this.positions = numbers(motion.position).values;
    this.rotations = numbers(motion.rotation).values;
    this.points = numbers(motion.points).values;
    this.meshes = motion.meshes.map((mesh) => ({
      body: mesh.body,
      points: numbers(mesh.points).values,
      triangles: numbers(mesh.triangles).values,
      edges: numbers(mesh.edges).values,
      shapes: numbers(mesh.shapes),
      coordinates: numbers(mesh.coordinates),
    }));
    this.roads = motion.roads.map((road) => ({ x: numbers(road.x).values, z: numbers(road.z).values, y: road.y }));
    this.solids = motion.solids.map(([kind, body, center, axes, extent]) => {
      const a = numbers(axes).values;
      return { kind, body, center: [...numbers(center).values], axes: [0, 1, 2].map((k) => [a[k], a[3 + k], a[6 + k]]), extent: [...numbers(extent).values] };
    });
    const [axis, sense] = motion.up;
    this.vertical = [0, 0, 0];
    this.vertical[axis] = sense;
  }

  /** Pose of every body at a time: {origin, columns}, the ground's last, at -1. */
  poses(time) {
    const [frame, part] = this.frame(time);
    const next = Math.min(frame + 1, this.time.length - 1);
    const count = this.motion.bodies.length;
    const found = [];
    for (let body = 0; body < count; body += 1) {
      const at = (k, width, list) => Array.from(list.subarray((k * count + body) * width, (k * count + body + 1) * width));
      const [p, q] = [at(frame, 3, this.positions), at(next, 3, this.positions)];
      const [a, b] = [at(frame, 4, this.rotations), at(next, 4, this.rotations)];
      const sign = a.reduce((sum, value, k) => sum + value * b[k], 0) < 0 ? -1 : 1;
      const mixed = a.map((value, k) => value * (1 - part) + sign * b[k] * part);
      const length = Math.hypot(...mixed);
      found.push({ origin: add(times(p, 1 - part), times(q, part)), columns: turned(mixed.map((value) => value / length)) });
    }
    found[-1] = { origin: [0, 0, 0], columns: [[1, 0, 0], [0, 1, 0], [0, 0, 1]] };
    return found;
  }

  /** Frame before a time, and the part of the way to the next one. */
  frame(time) {
    const last = this.time.length - 1;
    if (last < 1) return [0, 0];
    const at = ((time - this.time[0]) / (this.time[last] - this.time[0])) * last;
    const frame = Math.min(last - 1, Math.max(0, Math.floor(at)));
    return [frame, Math.min(1, Math.max(0, at - frame))];
  }

  place(poses, point) {
    const pose = poses[this.motion.of[point]];
    return add(pose.origin, apply(pose.columns, this.points.subarray(3 * point, 3 * point + 3)));
  }

  /** Global points of a mesh, deformed so many times as much as it is. */
  deformed(mesh, poses, time, larger) {
    const [frame, part] = this.frame(time);
    const [modes, count] = mesh.shapes.shape;
    const local = Float32Array.from(mesh.points);
    const next = Math.min(frame + 1, this.time.length - 1);
    for (let mode = 0; mode < modes; mode += 1) {
      const now = mesh.coordinates.values[frame * modes + mode];
      const amount = larger * (now + part * (mesh.coordinates.values[next * modes + mode] - now));
      const offset = mode * count * 3;
      for (let k = 0; k < count * 3; k += 1) local[k] += amount * mesh.shapes.values[offset + k];
    }
    const { origin, columns: c } = poses[mesh.body];
    for (let k = 0; k < local.length; k += 3) {
      const [x, y, z] = [local[k], local[k + 1], local[k + 2]];
      for (let axis = 0; axis < 3; axis += 1) local[k + axis] = origin[axis] + c[0][axis] * x + c[1][axis] * y + c[2][axis] * z;
    }
    return local;
  }

  /** Corners of the box about what is drawn, at some times; relative to a body where one is followed. */
  box(times_, follow = null) {
    const [low, high] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
    for (const time of times_) {
      const poses = this.poses(time);
      const away = follow === null ? [0, 0, 0] : poses[follow].origin;
      const take = (at, room = 0) => {
        for (let axis = 0; axis < 3; axis += 1) {
          low[axis] = Math.min(low[axis], at[axis] - away[axis] - room);
          high[axis] = Math.max(high[axis], at[axis] - away[axis] + room);
        }
      };
      const used = new Set([...this.motion.lines.flatMap((line) => line[2]), ...this.motion.joints, ...(follow === null ? this.motion.ground : [])]);
      for (const point of used) if (follow === null || this.motion.of[point] >= 0) take(this.place(poses, point));
      for (const solid of this.solids) take(add(poses[solid.body].origin, apply(poses[solid.body].columns, solid.center)), 0.5 * Math.max(...solid.extent));
      for (const mesh of this.meshes) {
        const points = this.deformed(mesh, poses, time, 1);
        for (let k = 0; k < points.length; k += 3) take(points.subarray(k, k + 3));
      }
    }
    return low[0] > high[0] ? [[-0.5, -0.5, -0.5], [0.5, 0.5, 0.5]] : [low, high];
  }
}

/** The stage: the view with its controls. `moved(time)` is called when the time changes. */
class Stage {
  constructor(mechanism, moved) {
    this.mechanism = mechanism;
    this.moved = moved;
    this.now = mechanism.time[0];
    this.end = mechanism.time[mechanism.time.length - 1];
    this.speed = 1;
    this.larger = 1;
    this.arrows = true;
    this.named = false;
    this.playing = false;
    this.paint = paints();
    this.canvas = element("canvas", { "aria-label": "The mechanism; drag to turn it" });
    this.labels = element("canvas", { class: "labels" });
    this.frame = element("div", { class: "view" }, this.canvas, this.labels);
    this.root = element("div", { class: "stage" }, this.frame);
    this.gl = renderer(this.canvas);
    if (!this.gl) {
      this.frame.append(element("p", { class: "warning" }, "This browser has no WebGL 2, which the view in space needs."));
    } else {
      this.prepare();
      this.listen();
    }
    this.controls();
    new ResizeObserver(() => this.draw()).observe(this.frame);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => ((this.paint = paints()), this.draw()));
  }

  prepare() {
    const { gl, mechanism } = this;
    this.shapes = { box: gl.stored(boxShape()), sphere: gl.stored(sphereShape()), cylinder: gl.stored(revolved(CYLINDER)), wheel: gl.stored(revolved(WHEEL, 48)), cone: gl.stored(revolved(CONE)), pyramid: gl.stored(revolved(CONE, 4)) };
    this.coil = coilPoints();
    const sampled = Array.from({ length: 40 }, (_, k) => mechanism.time[Math.round((k * (mechanism.time.length - 1)) / 39)]);
    const [low, high] = mechanism.box(sampled);
    const [first, last] = mechanism.box([mechanism.time[0]]);
    this.extent = size(minus(last, first)) || 1;
    const travels = mechanism.motion.bodies.length > 0 && size(minus(high, low)) > 3 * this.extent;
    this.follow = travels ? 0 : null;
    this.sampled = sampled;
    this.meshes = mechanism.meshes.map((mesh) => ({ mesh, faces: gl.stored({ points: mesh.points }, mesh.triangles), edges: gl.stored({ points: mesh.points }, mesh.edges) }));
    this.roads = mechanism.roads.map((road) => gl.stored({ points: roadFaces(road) }));
    this.roadLines = mechanism.roads.map((road) => gl.stored({ points: roadEdges(road) }));
    this.largest = {};
    const histories = mechanism.histories;
    for (const arrow of mechanism.motion.arrows) {
      const found = histories?.find(arrow.history);
      if (!found) continue;
      arrow.found = found;
      const sort = arrow.kind;
      for (let row = 0; row < found.table.shape[0]; row += 1) {
        const width = found.table.shape[1];
        const force = Math.hypot(...found.table.values.subarray(row * width, row * width + width));
        if (Number.isFinite(force)) this.largest[sort] = Math.max(this.largest[sort] ?? 0, force);
      }
    }
    // moments that are round-off beside forces times the size of the mechanism are none
    if (this.largest.moment < 1e-6 * (this.largest.vector ?? 0) * this.extent) delete this.largest.moment;
    this.home();
  }

  /** The camera as it is at the beginning, or looking along an axis. */
  home(plane = null) {
    const motion = this.mechanism.motion;
    const basis = numbers(motion.basis).values;
    const rows = { "": [0, 3, 6].map((k) => [...basis.subarray(k, k + 3)]), xy: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], xz: [[1, 0, 0], [0, 0, 1], [0, -1, 0]], yz: [[0, 1, 0], [0, 0, 1], [1, 0, 0]] };
    const [low, high] = this.mechanism.box(this.sampled, this.follow);
    const aspect = 4 / 3;
    const chosen = rows[plane ?? ""];
    const middle = times(add(low, high), 0.5);
    let [wide, tall] = [0, 0];
    for (let k = 0; k < 8; k += 1) {
      const corner = minus([k & 1 ? low[0] : high[0], k & 2 ? low[1] : high[1], k & 4 ? low[2] : high[2]], middle);
      wide = Math.max(wide, Math.abs(dot(corner, chosen[0])));
      tall = Math.max(tall, Math.abs(dot(corner, chosen[1])));
    }
    const height = 2.3 * Math.max(tall, wide / aspect, 1e-6);
    this.middle = middle;
    this.camera = new Camera(chosen, middle, height, this.mechanism.vertical, plane !== null || motion.plane !== "");
  }

  listen() {
    const pointers = new Map();
    this.canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
    });
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, (event) => pointers.delete(event.pointerId));
    this.canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      if (event.shiftKey || event.buttons & 6 || pointers.size > 1) {
        const metre = this.camera.height / this.canvas.clientHeight;
        const way = add(times(this.camera.right, -dx * metre), times(this.camera.up, dy * metre));
        this.middle = add(this.middle, way);
      } else this.camera.turn(-dx * 0.008, dy * 0.008);
      this.draw();
    });
    this.canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.camera.height *= Math.exp(Math.sign(event.deltaY) * 0.12);
        this.draw();
      },
      { passive: false },
    );
    this.canvas.addEventListener("dblclick", () => {
      this.home();
      this.draw();
    });
  }

  controls() {
    const { mechanism } = this;
    if (this.end > mechanism.time[0]) {
      this.button = element("button", { class: "play", onclick: () => this.play(!this.playing) }, "▶ Play");
      this.scrubber = element("input", { type: "range", min: mechanism.time[0], max: this.end, step: "any", value: this.now, "aria-label": "Time", oninput: () => this.moved(Number(this.scrubber.value)) });
      this.clock = element("span", { class: "clock" });
      const speeds = element("select", { "aria-label": "Speed", onchange: () => (this.speed = Number(speeds.value)) });
      for (const speed of [0.05, 0.1, 0.25, 0.5, 1, 2, 5]) speeds.append(element("option", { value: speed, selected: speed === 1 }, `${speed} ×`));
      this.root.append(element("div", { class: "bar" }, this.button, this.scrubber, this.clock, speeds));
    }
    if (!this.gl) return;
    const bar = element("div", { class: "bar" });
    for (const [name, plane] of [["Home", null], ["x–y", "xy"], ["x–z", "xz"], ["y–z", "yz"]])
      bar.append(element("button", { onclick: () => (this.home(plane), this.draw()) }, name));
    const pressed = (name, key) => {
      const button = element("button", { "aria-pressed": this[key] }, name);
      button.addEventListener("click", () => {
        this[key] = !this[key];
        button.setAttribute("aria-pressed", this[key]);
        this.draw();
      });
      return button;
    };
    if (mechanism.motion.arrows.some((arrow) => arrow.found)) bar.append(pressed("Forces", "arrows"));
    bar.append(pressed("Names", "named"));
    const follow = element("select", { "aria-label": "Follow", onchange: () => ((this.follow = follow.value === "" ? null : Number(follow.value)), this.home(), this.draw()) }, element("option", { value: "" }, "follow nothing"));
    mechanism.motion.bodies.forEach((name, k) => follow.append(element("option", { value: k, selected: this.follow === k }, `follow ${name}`)));
    bar.append(follow);
    if (mechanism.meshes.some((mesh) => mesh.shapes.shape[0])) {
      const larger = element("select", { "aria-label": "Deformation", onchange: () => ((this.larger = Number(larger.value)), this.draw()) });
      for (const factor of [1, 2, 5, 10, 20, 50, 100, 1000]) larger.append(element("option", { value: factor }, `deformation × ${factor}`));
      bar.append(larger);
    }
    this.root.append(bar, element("p", { class: "note" }, "Drag to turn, shift-drag to move, wheel to zoom, double click for the first view."));
  }

  play(on) {
    this.playing = on;
    this.button.textContent = on ? "❚❚ Pause" : "▶ Play";
    if (!on) return;
    if (this.now >= this.end) this.moved(this.mechanism.time[0]);
    let before = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      const time = this.now + ((now - before) / 1000) * this.speed;
      before = now;
      this.moved(Math.min(time, this.end));
      if (time >= this.end) this.play(false);
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  /** Show a time. */
  at(time) {
    this.now = time;
    if (this.scrubber) {
      this.scrubber.value = time;
      this.clock.textContent = `t = ${time.toFixed(3)} s`;
    }
    this.draw();
  }

  draw() {
    if (!this.gl || !this.canvas.clientWidth) return;
    const { gl, mechanism, camera, paint } = this;
    const poses = mechanism.poses(this.now);
    camera.target = this.follow === null ? this.middle : add(this.middle, poses[this.follow].origin);
    const aspect = this.canvas.clientWidth / this.canvas.clientHeight;
    const { camera: look, projection } = camera.matrices(aspect);
    const of = (body) => (body < 0 ? paint.soft : paint[`c${body % 6}`]);
    gl.begin(paint.sky, look, projection);
    this.roads.forEach((road, k) => {
      gl.draw(road, null, paint.faint, "flat");
      gl.draw(this.roadLines[k], null, paint.soft, "lines", 0.5);
    });
    const thick = Math.min(0.012 * this.extent, 0.02 * camera.height);
    for (const { kind, body, center, axes, extent } of mechanism.solids) {
      const { origin, columns } = poses[body];
      const turnedAxes = axes.map((axis) => apply(columns, axis));
      gl.draw(this.shapes[kind], placed(turnedAxes, add(origin, apply(columns, center)), extent), kind === "wheel" ? times(add(of(body), [0.25, 0.25, 0.25]), 0.45) : of(body));
    }
    for (const { mesh, faces, edges } of this.meshes) {
      const points = mechanism.deformed(mesh, poses, this.now, this.larger);
      if (mesh.triangles.length) {
        gl.moved(faces, points);
        gl.draw(faces, null, of(mesh.body), "flat");
      }
      gl.moved(edges, points);
      gl.draw(edges, null, mesh.triangles.length ? times(of(mesh.body), 0.6) : of(mesh.body), "lines");
    }
    for (const [kind, body, points] of mechanism.motion.lines) this.drawLine(kind, body, points.map((point) => mechanism.place(poses, point)), thick, of(body), paint);
    for (const point of mechanism.motion.joints) gl.draw(this.shapes.sphere, placed([[1, 0, 0], [0, 1, 0], [0, 0, 1]], mechanism.place(poses, point), [3.4 * thick, 3.4 * thick, 3.4 * thick]), WHITE);
    const held = new Set(mechanism.motion.joints.map((point) => mechanism.place(poses, point).map((x) => x.toFixed(6)).join()));
    for (const point of mechanism.motion.ground) {
      const at = mechanism.place(poses, point);
      if (!held.has(at.map((x) => x.toFixed(6)).join()) && !mechanism.motion.lines.some((line) => line[2].includes(point))) continue;
      const up = mechanism.vertical;
      gl.draw(this.shapes.pyramid, placed([...across(up), up], add(at, times(up, -3.2 * thick)), [6 * thick, 6 * thick, 6 * thick]), paint.soft);
    }
    if (this.arrows) for (const arrow of mechanism.motion.arrows) if (arrow.found) this.drawArrow(arrow, poses, thick, paint);
    this.drawLabels(poses, aspect);
  }

  drawLine(kind, body, points, thick, tint, paint) {
    const { gl, shapes } = this;
    const bar = (from, to, radius, colour_) => size(minus(to, from)) > 1e-9 && gl.draw(shapes.cylinder, between(from, to, radius), colour_);
    if (kind === "spring") {
      const way = minus(points[1], points[0]);
      const [axis, length] = [unit(way), size(way)];
      const sides = across(axis);
      const wide = Math.min(4.5 * thick, 0.25 * length);
      let before = points[0];
      for (const [x, y, z] of this.coil) {
        const next = add(points[0], add(add(times(sides[0], 2 * x * wide), times(sides[1], 2 * y * wide)), times(axis, (z + 0.5) * length)));
        bar(before, next, 0.45 * thick, paint.soft);
        before = next;
      }
      return;
    }
    if (kind === "spiral") {
      const [first, second] = [this.camera.right, this.camera.up];
      let before = points[0];
      for (let k = 1; k <= 54; k += 1) {
        const angle = (2 * Math.PI * 2.25 * k) / 54;
        const next = add(points[0], add(times(first, (k / 54) * 6 * thick * Math.cos(angle)), times(second, (k / 54) * 6 * thick * Math.sin(angle))));
        bar(before, next, 0.35 * thick, paint.soft);
        before = next;
      }
      return;
    }
    const radius = { body: thick, shape: 0.5 * thick, rod: 0.6 * thick, slide: 0.6 * thick }[kind] ?? 0.5 * thick;
    for (let k = 0; k + 1 < points.length; k += 1) bar(points[k], points[k + 1], radius, tint);
  }

  drawArrow(arrow, poses, thick, paint) {
    const { mechanism } = this;
    const row = arrow.found.row(this.now);
    if (!row.every(Number.isFinite) || !this.largest[arrow.kind]) return;
    const scale = (0.3 * this.extent) / this.largest[arrow.kind];
    if (arrow.kind === "between") {
      const [a, b] = arrow.ends.map((point) => mechanism.place(poses, point));
      const push = times(unit(minus(b, a)), row[0] * scale);
      this.arrow(b, add(b, push), thick, paint.c1);
      this.arrow(a, minus(a, push), thick, paint.c1);
    } else if (arrow.kind === "upwards") {
      const at = minus(mechanism.place(poses, arrow.at), times(mechanism.vertical, arrow.below));
      this.arrow(at, add(at, times(mechanism.vertical, row[0] * scale)), thick, paint.c2);
    } else {
      const at = mechanism.place(poses, arrow.at);
      const moment = arrow.kind === "moment";
      this.arrow(at, add(at, times(apply(poses[arrow.body].columns, row), scale)), thick, moment ? paint.c4 : paint.c3, moment);
    }
  }

  /** An arrow; that of a moment has two heads. */
  arrow(from, to, thick, tint, double = false) {
    const way = minus(to, from);
    const length = size(way);
    if (length < 0.5 * thick) return;
    const head = Math.min(5 * thick, 0.6 * length);
    const neck = minus(to, times(unit(way), head));
    this.gl.draw(this.shapes.cylinder, between(from, neck, 0.55 * thick), tint);
    this.gl.draw(this.shapes.cone, between(neck, to, 1.5 * thick), tint);
    if (double) this.gl.draw(this.shapes.cone, between(minus(neck, times(unit(way), Math.min(head, length - head))), neck, 1.5 * thick), tint);
  }

  drawLabels(poses, aspect) {
    const ratio = devicePixelRatio;
    const [wide, tall] = [this.labels.clientWidth, this.labels.clientHeight];
    [this.labels.width, this.labels.height] = [wide * ratio, tall * ratio];
    const pen = this.labels.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    pen.scale(ratio, ratio);
    pen.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    const corner = [46, tall - 44];
    ["x", "y", "z"].forEach((name, axis) => {
      const way = [this.camera.right[axis] * 28, -this.camera.up[axis] * 28];
      pen.strokeStyle = pen.fillStyle = style.getPropertyValue(["--c1", "--c2", "--c0"][axis]);
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(...corner);
      pen.lineTo(corner[0] + way[0], corner[1] + way[1]);
      pen.stroke();
      if (Math.hypot(...way) > 6) pen.fillText(name, corner[0] + way[0] * 1.3 - 3, corner[1] + way[1] * 1.3 + 4);
    });
    const step = steps(0, this.camera.height * aspect, 5)[1];
    const length = (step / (this.camera.height * aspect)) * wide;
    pen.strokeStyle = pen.fillStyle = style.getPropertyValue("--soft");
    pen.beginPath();
    pen.moveTo(wide - 16 - length, tall - 20);
    pen.lineTo(wide - 16, tall - 20);
    pen.stroke();
    pen.textAlign = "center";
    pen.fillText(`${shown(step)} m`, wide - 16 - length / 2, tall - 25);
    if (!this.named) return;
    pen.fillStyle = style.getPropertyValue("--ink");
    this.mechanism.motion.bodies.forEach((name, body) => {
      const at = this.mechanism.motion.names[`${name}.center_of_mass`] ?? this.mechanism.motion.names[`${name}.origin`];
      const place = at === undefined ? poses[body].origin : this.mechanism.place(poses, at);
      const [x, y] = this.camera.project(place, aspect);
      pen.fillText(name, x * wide, y * tall - 8);
    });
  }
}

/** Triangles of a road between its sides. */
function roadFaces(road) {
  const points = [];
  for (let k = 0; k + 1 < road.x.length; k += 1) {
    const corners = [k, k + 1].flatMap((at) => road.y.map((y) => [road.x[at], y, road.z[at]]));
    for (const corner of [0, 2, 3, 0, 3, 1]) points.push(...corners[corner]);
  }
  return new Float32Array(points);
}

/** Lines along the sides of a road, and across it. */
function roadEdges(road) {
  const points = [];
  for (let k = 0; k + 1 < road.x.length; k += 1) {
    for (const y of road.y) points.push(road.x[k], y, road.z[k], road.x[k + 1], y, road.z[k + 1]);
    if (k % 4 === 0) points.push(road.x[k], road.y[0], road.z[k], road.x[k], road.y[1], road.z[k]);
  }
  return new Float32Array(points);
}
