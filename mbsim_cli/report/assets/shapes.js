// Shapes as triangles: {points, normals} for WebGL; and small vectors and matrices.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const times = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const size = (a) => Math.hypot(a[0], a[1], a[2]);
const unit = (a) => times(a, 1 / (size(a) || 1));

/** Columns of the rotation by a quaternion (x, y, z, w). */
function turned(q) {
  const [x, y, z, w] = q;
  return [
    [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)],
    [2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)],
    [2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)],
  ];
}

const apply = (columns, v) => add(add(times(columns[0], v[0]), times(columns[1], v[1])), times(columns[2], v[2]));

/** Two directions across a third. */
function across(axis) {
  const other = Math.abs(axis[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0];
  const first = unit(cross(other, axis));
  return [first, cross(axis, first)];
}

/** Affine map as 16 numbers, column by column. */
function placed(columns, origin, scale = [1, 1, 1]) {
  const [a, b, c] = columns.map((one, k) => times(one, scale[k]));
  return new Float32Array([...a, 0, ...b, 0, ...c, 0, ...origin, 1]);
}

/** A unit shape along z from `from` to `to`, so thick as a part of its length says: the unit cylinder spans the segment. */
function between(from, to, radius) {
  const way = minus(to, from);
  const axis = unit(way);
  return placed([...across(axis), axis], times(add(from, to), 0.5), [2 * radius, 2 * radius, size(way)]);
}

/** Triangles of a surface of revolution about z: rows of [radius, z, normal's radial part, normal's z]. */
function revolved(profile, around = 32) {
  const [points, normals] = [[], []];
  for (let k = 0; k < around; k += 1) {
    const angles = [(2 * Math.PI * k) / around, (2 * Math.PI * (k + 1)) / around];
    for (let row = 0; row + 1 < profile.length; row += 2) {
      const [low, high] = [profile[row], profile[row + 1]];
      const corner = (ring, angle) => {
        points.push(ring[0] * Math.cos(angle), ring[0] * Math.sin(angle), ring[1]);
        normals.push(ring[2] * Math.cos(angle), ring[2] * Math.sin(angle), ring[3]);
      };
      for (const [ring, side] of [[low, 0], [low, 1], [high, 1], [low, 0], [high, 1], [high, 0]]) corner(ring, angles[side]);
    }
  }
  return { points: new Float32Array(points), normals: new Float32Array(normals) };
}

function boxShape() {
  const [points, normals] = [[], []];
  for (let axis = 0; axis < 3; axis += 1)
    for (const side of [-0.5, 0.5]) {
      const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
      for (const [a, b] of [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) {
        const [p, n] = [[0, 0, 0], [0, 0, 0]];
        [p[axis], p[u], p[v], n[axis]] = [side, a, b, 2 * side];
        points.push(...p);
        normals.push(...n);
      }
    }
  return { points: new Float32Array(points), normals: new Float32Array(normals) };
}

function sphereShape() {
  const profile = [];
  const rings = 16;
  for (let k = 0; k < rings; k += 1)
    for (const at of [k, k + 1]) {
      const angle = (Math.PI * at) / rings;
      profile.push([0.5 * Math.sin(angle), -0.5 * Math.cos(angle), Math.sin(angle), -Math.cos(angle)]);
    }
  return revolved(profile);
}

const CYLINDER = [[0, -0.5, 0, -1], [0.5, -0.5, 0, -1], [0.5, -0.5, 1, 0], [0.5, 0.5, 1, 0], [0.5, 0.5, 0, 1], [0, 0.5, 0, 1]];
// A wheel: tread with rounded shoulders, a rim that lies deeper.
const WHEEL = [
  [0.5, -0.3, 1, 0], [0.5, 0.3, 1, 0],
  [0.5, 0.3, 0.7, 0.7], [0.44, 0.5, 0.5, 0.8], [0.44, 0.5, 0, 1], [0.31, 0.5, 0, 1], [0.31, 0.5, -1, 0], [0.31, 0.2, -1, 0], [0.31, 0.2, 0, 1], [0, 0.2, 0, 1],
  [0.5, -0.3, 0.7, -0.7], [0.44, -0.5, 0.5, -0.8], [0.44, -0.5, 0, -1], [0.31, -0.5, 0, -1], [0.31, -0.5, -1, 0], [0.31, -0.2, -1, 0], [0.31, -0.2, 0, -1], [0, -0.2, 0, -1],
];
const CONE = [[0.5, -0.5, 0.9, 0.4], [0, 0.5, 0.9, 0.4], [0, -0.5, 0, -1], [0.5, -0.5, 0, -1]];

/** Points of a coil along z from -1/2 to 1/2, radius 1/2, with straight ends. */
function coilPoints(turns = 9, each = 16) {
  const found = [[0, 0, -0.5]];
  for (let k = 0; k <= turns * each; k += 1) {
    const angle = (2 * Math.PI * k) / each;
    found.push([0.5 * Math.cos(angle), 0.5 * Math.sin(angle), -0.4 + (0.8 * k) / (turns * each)]);
  }
  return [...found, [0, 0, 0.5]];
}
