// A small WebGL view: shaded triangles and lines, a camera that turns about a target.

const VERTEX = `#version 300 es
uniform mat4 model, camera, projection;
in vec3 point, normal;
out vec3 seen, bent;
void main() {
  vec3 squares = vec3(dot(model[0].xyz, model[0].xyz), dot(model[1].xyz, model[1].xyz), dot(model[2].xyz, model[2].xyz));
  vec4 at = camera * (model * vec4(point, 1.0));
  seen = at.xyz;
  bent = mat3(camera) * (mat3(model) * (normal / max(squares, vec3(1e-20))));
  gl_Position = projection * at;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
uniform vec4 paint;
uniform int manner;  // 0: smooth, 1: flat, 2: without light
in vec3 seen, bent;
out vec4 shade;
void main() {
  if (manner == 2) { shade = paint; return; }
  vec3 n = normalize(manner == 1 ? cross(dFdx(seen), dFdy(seen)) : bent);
  if (n.z < 0.0) n = -n;
  float light = 0.42 + 0.5 * max(dot(n, normalize(vec3(0.35, 0.6, 0.75))), 0.0) + 0.14 * n.y;
  float gloss = pow(max(dot(n, normalize(vec3(0.2, 0.35, 0.9))), 0.0), 40.0) * 0.18;
  shade = vec4(paint.rgb * light + gloss, paint.a);
}`;

/** Colour of a style's property, as numbers. */
function paintOf(name) {
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888888";
  const text = probe.fillStyle;
  return [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16) / 255);
}

/** Colours of the page's style, as numbers. */
function paints() {
  return Object.fromEntries(["c0", "c1", "c2", "c3", "c4", "c5", "soft", "faint", "sky"].map((name) => [name, paintOf(`--${name}`)]));
}

/** Draws on a canvas; null where there is no WebGL 2. */
function renderer(canvas) {
  const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
  if (!gl) return null;
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  const places = Object.fromEntries(["model", "camera", "projection", "paint", "manner"].map((name) => [name, gl.getUniformLocation(program, name)]));
  const [point, normal] = ["point", "normal"].map((name) => gl.getAttribLocation(program, name));
  const same = placed([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 0, 0]);
  gl.enable(gl.DEPTH_TEST);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  gl.enable(gl.POLYGON_OFFSET_FILL);

  /** A shape in the card's memory; `indices` for meshes whose points move. */
  function stored(shape, indices = null) {
    const made = { array: gl.createVertexArray(), points: gl.createBuffer(), count: indices ? indices.length : shape.points.length / 3, indexed: Boolean(indices) };
    gl.bindVertexArray(made.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, made.points);
    gl.bufferData(gl.ARRAY_BUFFER, shape.points, indices ? gl.DYNAMIC_DRAW : gl.STATIC_DRAW);
    gl.enableVertexAttribArray(point);
    gl.vertexAttribPointer(point, 3, gl.FLOAT, false, 0, 0);
    if (shape.normals) {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, shape.normals, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(normal);
      gl.vertexAttribPointer(normal, 3, gl.FLOAT, false, 0, 0);
    }
    if (indices) {
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices, gl.STATIC_DRAW);
    }
    gl.bindVertexArray(null);
    return made;
  }

  return {
    stored,
    moved(made, points) {
      gl.bindBuffer(gl.ARRAY_BUFFER, made.points);
      gl.bufferData(gl.ARRAY_BUFFER, points, gl.DYNAMIC_DRAW);
    },
    begin(sky, camera, projection) {
      const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((pixels) => Math.max(1, Math.round(pixels * devicePixelRatio)));
      if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
      gl.viewport(0, 0, width, height);
      gl.clearColor(...sky, 1);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.uniformMatrix4fv(places.camera, false, camera);
      gl.uniformMatrix4fv(places.projection, false, projection);
    },
    /** Draw a stored shape; manner: "smooth", "flat" or "lines". */
    draw(made, model, paint, manner = "smooth", alpha = 1) {
      gl.uniformMatrix4fv(places.model, false, model ?? same);
      gl.uniform4f(places.paint, ...paint, alpha);
      gl.uniform1i(places.manner, manner === "smooth" ? 0 : manner === "flat" ? 1 : 2);
      gl.polygonOffset(manner === "lines" ? 0 : 1, manner === "lines" ? 0 : 1);
      gl.bindVertexArray(made.array);
      const kind = manner === "lines" ? gl.LINES : gl.TRIANGLES;
      if (made.indexed) gl.drawElements(kind, made.count, gl.UNSIGNED_INT, 0);
      else gl.drawArrays(kind, 0, made.count);
    },
  };
}

/** A camera about a target: `right`, `up` and `toward` the eye are its axes; `height` of the picture in m at the target. */
class Camera {
  constructor(basis, target, height, vertical, flat) {
    [this.right, this.up, this.toward] = basis.map((row) => [...row]);
    Object.assign(this, { target, height, vertical, flat });
  }

  /** Turn about the vertical and tilt, by angles. */
  turn(about, tilt) {
    const tilted = Math.asin(Math.min(1, Math.max(-1, dot(this.toward, this.vertical)))) + tilt;
    if (Math.abs(tilted) > 1.55) tilt = 0;
    const rotate = (v, axis, angle) => add(add(times(v, Math.cos(angle)), times(cross(axis, v), Math.sin(angle))), times(axis, dot(axis, v) * (1 - Math.cos(angle))));
    const right = this.right;
    for (const name of ["right", "up", "toward"]) this[name] = rotate(rotate(this[name], right, -tilt), this.vertical, about);
    this.right = unit(this.right);
    this.toward = unit(this.toward);
    this.up = cross(this.toward, this.right);
    this.flat = false;
  }

  matrices(aspect) {
    const distance = this.flat ? 40 * this.height : 1.9 * this.height;
    const eye = add(this.target, times(this.toward, distance));
    const [r, u, t] = [this.right, this.up, this.toward];
    const camera = new Float32Array([r[0], u[0], t[0], 0, r[1], u[1], t[1], 0, r[2], u[2], t[2], 0, -dot(r, eye), -dot(u, eye), -dot(t, eye), 1]);
    const [near, far] = [Math.max(distance - 20 * this.height, 0.02 * this.height), distance + 40 * this.height];
    const f = (2 * distance) / this.height;
    const projection = new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (near + far) / (near - far), -1, 0, 0, (2 * near * far) / (near - far), 0]);
    return { camera, projection, distance };
  }

  /** Place of a point in the picture, in parts of its width and height from the upper left. */
  project(at, aspect) {
    const { distance } = this.matrices(aspect);
    const way = minus(at, this.target);
    const depth = distance - dot(way, this.toward);
    const scale = distance / depth / this.height;
    return [0.5 + (dot(way, this.right) * scale) / aspect, 0.5 - dot(way, this.up) * scale];
  }
}
