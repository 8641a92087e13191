"""Flexible bodies as input of the reduction, in numbers; complex steps move the same body, mesh node by mesh node."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.errors import InputOutputError, ModelError, beyond_numbers
from mbsim_cli.model.layout import STEP
from mbsim_cli.reduction import fields, matrices
from mbsim_cli.reduction.data import Refused, StandardInput
from mbsim_cli.reduction.elements import Section, beam, rectangle, solid, tube
from mbsim_cli.reduction.fields import element_gradients
from mbsim_cli.reduction.mesh import Mesh, Selection, grid, line, nodes_of
from mbsim_cli.reduction.modes import Stiffening
from mbsim_cli.reduction.reduce import Body, Damping, Integrals, Reduced, body_of, impossible, node_of
from mbsim_cli.reduction.restriction import Frame, mesh_node
from mbsim_cli.reduction.structure import Structure
from mbsim_cli.spec.expressions.evaluate import evaluate
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.program import compiled
from mbsim_cli.spec.expressions.syntax import ExpressionError, names, parse
from mbsim_cli.spec.flexible import Density, FlexibleTerms, NodeSet
from mbsim_cli.spec.model_file import ModelFile

PLACES = ("x", "y", "z")


def field_values(model_file: ModelFile, name: str, mesh: Mesh, numbers: Numbers, read: Any) -> np.ndarray:
    """Numbers of a field (ne), before any filter; raise ModelError where one is not finite or out of bounds."""
    given = model_file.fields[name]
    if name in model_file.field_values:
        p = np.asarray(model_file.field_values[name], dtype=float)
    elif given.value is None:
        p = _from_file(model_file, name, len(mesh.cells), read)
    else:
        p = _by_expression(model_file, name, mesh, numbers)
    if given.bounds is not None:
        low, high = (float(np.real(bound)) for bound in numbers.vector(given.bounds))
        if (outside := (np.real(p) < low) | (np.real(p) > high)).any():
            element = int(np.argmax(outside))
            found = f"the number of element {element} is {np.real(p[element]):g}"
            message = f"{found}, outside the bounds {low:g} and {high:g}"
            raise ModelError([model_file.issue(f"fields.{name}", message)])
    return p


def _by_expression(model_file: ModelFile, name: str, mesh: Mesh, numbers: Numbers) -> np.ndarray:
    tree = parse(model_file.fields[name].value)
    used = tuple(names(tree))
    values = {key: numbers(Number(key)) for key in used if key not in PLACES}
    centres = mesh.centres
    places = dict(zip(PLACES, centres.T, strict=True))
    message, element = "its value is too large", 0
    try:
        program = compiled(tree, dict.fromkeys(used, 1))
        given = values | places
        p = np.broadcast_to(program.value([given[key] for key in used]), len(centres))
        if np.isfinite(p).all():
            return np.array(p)
        element = int(np.argmin(np.isfinite(p)))
        evaluate(tree, values | dict(zip(PLACES, centres[element].tolist(), strict=True)))
    except ExpressionError as error:
        message = error.message
    raise ModelError([model_file.issue(f"fields.{name}.value", f"{message}, at the centre of element {element}")])


def _from_file(model_file: ModelFile, name: str, count: int, read: Any) -> np.ndarray:
    given, place = model_file.fields[name], f"fields.{name}.file"
    path = model_file.source.file_at(place, str(given.file))
    dataset = given.dataset or name
    try:
        p = read.numbers(path, dataset)
    except InputOutputError as error:
        raise ModelError([model_file.issue(place, str(error))]) from error
    if p.shape != (count,):
        shape = " x ".join(map(str, p.shape)) or "one number"
        message = f"{path} has {shape} under {dataset}, not a number for each of {count} elements"
        raise ModelError([model_file.issue(place, message)])
    if not np.isfinite(p).all():
        element = int(np.argmin(np.isfinite(p)))
        raise ModelError([model_file.issue(place, f"{path} has no finite number for element {element}")])
    return p


FROM_FILES = ("file", "matrices")
MATRICES = ("stiffness", "mass", "nodes")


class Readers(Protocol):
    """What reads files; raises Refused with the place of what cannot be read."""

    def mesh(self, path: Path) -> Mesh:
        """A mesh file."""

    def matrix(self, path: Path, labels: np.ndarray, key: str) -> Any:
        """A matrix."""

    def nodes(self, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """Labels (N) and places (N, 3) of nodes."""

    def numbers(self, path: Path, dataset: str) -> np.ndarray:
        """Numbers (n) of a dataset; raises InputOutputError."""


class FlexibleBodies:
    """Bodies of a file from meshes and matrices, each file of which is read once."""

    def __init__(self, model_file: ModelFile, numbers: Numbers, read: Readers):
        self._model_file, self._numbers, self._read = model_file, numbers, read
        self._files: dict[Path, Mesh] = {}
        self._matrices: dict[str, Structure] = {}

    def body(self, name: str) -> Body:
        """The meshed body of a name; raise ModelError with the place of what cannot be met."""
        spec, place = self._model_file.bodies[name].flexible, f"bodies.{name}.flexible"
        return refused_at(self._model_file, place, lambda: self._body(spec, name))

    def by_number(self, name: str) -> StandardInput:
        """The body of a name that is given by its integrals; raise ModelError where no shapes have them."""
        spec = self._model_file.bodies[name].flexible
        assert isinstance(spec, FlexibleTerms)
        terms, n = spec.terms, len(spec.terms.Me)
        J = {"M0": terms.J} if isinstance(terms.J, tuple) else dict(terms.J)
        Cr = {"M0": terms.Cr} if isinstance(terms.Cr, tuple) else dict(terms.Cr)
        given = Integrals(
            mass=np.array(self._numbers(terms.mass)),
            mdCM=self._array(terms.mdCM, (3,)),
            J0=self._array(J["M0"], (3, 3)),
            J1=self._array(J.get("M1"), (n, 3, 3)),
            J2=self._array(J.get("M2"), (n, n, 3, 3)),
            Ct=self._array(terms.Ct, (n, 3)),
            Cr0=self._array(Cr["M0"], (n, 3)),
            Cr1=self._array(Cr.get("M1"), (n, n, 3)),
            Me=self._array(terms.Me, (n, n)),
            Ke=self._array(terms.Ke, (n, n)),
        )
        for term, message in impossible(given):
            raise ModelError([self._model_file.issue(f"bodies.{name}.flexible.terms.{term}", message)])
        rows = (n, 3)
        nodes = (
            node_of(key, self._array(node.origin, (3,)), self._array(node.phi, rows), self._array(node.psi, rows))
            for key, node in spec.nodes.items()
        )
        return body_of(given, tuple(nodes), damping_of(spec.damping, self._numbers))

    def _array(self, nested: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Numbers in lists of lists; zeros for None."""
        if nested is None:
            return np.zeros(shape)

        def values(entry: Any) -> Any:
            return [values(e) for e in entry] if isinstance(entry, tuple) else self._numbers(entry)

        return np.array(values(nested))

    def _body(self, spec: Any, name: str) -> Body:
        structure = self._structure(spec, name)
        if spec.density is not None:
            structure = self._with_density(structure, spec.density)
        mesh = structure.mesh
        joined = any(node.coupling == "rigid" for node in spec.nodes.values())
        if spec.mesh.type in FROM_FILES and not joined and structure.parts > 1:
            hint = "connect them in the mesh, or by a set that is rigid"
            raise Refused(("mesh",), f"the mesh has {structure.parts} parts that nothing connects", hint)
        sets = {key: nodes_of(mesh, self._selection(given), ("sets", key)) for key, given in spec.sets.items()}
        nodes = tuple(mesh_node(structure, key, sets[node.set]) for key, node in spec.nodes.items())
        index = {key: i for i, key in enumerate(spec.nodes)}
        rigid = tuple((sets[node.set], index[key]) for key, node in spec.nodes.items() if node.coupling == "rigid")
        stiffening = Stiffening(
            rotation="rotation" in spec.stiffening,
            acceleration="acceleration" in spec.stiffening,
            nodes=tuple(index[key] for key in spec.stiffening if key in index),
        )
        kept = range(spec.modes.count) if spec.modes.keep is None else [mode - 1 for mode in spec.modes.keep]
        if isinstance(spec.frame, str):  # free
            frame = Frame()
        elif spec.frame.fixed is not None:
            frame = Frame(fixed=sets[spec.frame.fixed])
        else:
            a, b = (nodes[index[key]] for key in spec.frame.chord)
            frame = Frame(chord=(a, b))
        return Body(
            structure=structure, frame=frame, nodes=nodes, rigid=rigid, modes=tuple(kept),
            static=tuple(index[key] for key in spec.modes.static), stiffening=stiffening,
            damping=damping_of(spec.damping, self._numbers),
        )  # fmt: skip

    def _with_density(self, structure: Structure, spec: Density) -> Structure:
        p = self.densities(structure.mesh, spec.name)
        if not (np.real(p) > 0).all():
            element = int(np.argmin(np.real(p)))
            message = f"the density of element {element} is {np.real(p[element]):g}, not positive"
            raise Refused(("density", "field"), message)
        law = self._law(spec)
        return structure.with_density(law.stiffness(p), law.mass(p))

    def _law(self, spec: Any) -> fields.Simp:
        given = (spec.law.penalty, spec.law.factor, spec.law.exponent, spec.law.threshold)
        return fields.Simp(*self._numbers.vector(given))

    def densities(self, mesh: Mesh, name: str) -> np.ndarray:
        """Numbers of a field on the elements of a mesh (ne), after its filter."""
        p = field_values(self._model_file, name, mesh, self._numbers, self._read)
        filtering = self._filter(name, mesh)
        return p if filtering is None else filtering @ p

    def share(self, name: str, found: Reduced, parameters: Sequence[str]) -> tuple[float, np.ndarray, np.ndarray]:
        """Mean density of a body over its volume, and its derivatives by the field (ne,) and by parameters (p,)."""
        spec, structure = self._density(name), found.body.structure
        assert spec is not None
        weights = np.broadcast_to(structure.mass.sum((1, 2)), len(structure.mesh.cells)).real
        weights = weights / weights.sum()  # the same at any values of the parameters
        mean = float(weights @ np.real(self.densities(structure.mesh, spec.name)))
        by_parameters = np.zeros(len(parameters))
        try:
            for k, parameter in enumerate(parameters):
                if self._numbers.step_along(parameter):
                    mesh = self._structure(self._model_file.bodies[name].flexible, name).mesh
                    by_parameters[k] = np.imag(weights @ self.densities(mesh, spec.name)) / STEP
        finally:
            self._numbers.step_along(None)
        filtering = self._filter(spec.name, structure.mesh)
        return mean, weights if filtering is None else filtering.real.T @ weights, by_parameters

    def drawn(self, name: str, mesh: Mesh) -> dict[str, np.ndarray]:
        """Numbers of the elements (ne) by name: the field of a body's density, and what its filter makes of it."""
        spec = self._density(name)
        if spec is None:
            return {}
        raw = np.real(field_values(self._model_file, spec.name, mesh, self._numbers, self._read))
        if (filtering := self._filter(spec.name, mesh)) is None:
            return {spec.name: raw}
        return {spec.name: raw, f"{spec.name}_filtered": filtering.real @ raw}

    def _density(self, name: str) -> Density | None:
        return getattr(self._model_file.bodies[name].flexible, "density", None)

    def _filter(self, name: str, mesh: Mesh) -> Any:
        spec = self._model_file.fields[name]
        if spec.filter is None:
            return None
        radius = self._numbers(spec.filter.radius)
        return refused_at(self._model_file, f"fields.{name}.filter", lambda: fields.filter_of(mesh, radius))

    def by_field(self, name: str, found: Reduced, adjoint: StandardInput) -> np.ndarray:
        """Derivatives (ne) of an objective by the numbers of a body's field; ``adjoint`` is by the body's terms."""
        spec = self._density(name)
        assert spec is not None
        mesh = found.body.structure.mesh
        p = np.real(self.densities(mesh, spec.name))
        gradient = self._law(spec).pull_back(p, *element_gradients(found, adjoint))
        filtering = self._filter(spec.name, mesh)
        return gradient if filtering is None else filtering.real.T @ gradient

    def _selection(self, spec: NodeSet) -> Selection:
        """Which nodes a set has: a choice, which a complex step does not change."""

        def real(number: Any) -> float:
            return float(np.real(self._numbers(number)))

        if spec.nearest is not None:
            return Selection(nearest=tuple(map(real, spec.nearest)))
        given = [(axis, getattr(spec, key)) for axis, key in enumerate("xyz")]
        ends = {axis: value if isinstance(value, tuple) else [value] * 2 for axis, value in given if value is not None}
        return Selection({axis: (real(low), real(high)) for axis, (low, high) in ends.items()}, spec.group)

    def _structure(self, spec: Any, name: str) -> Structure:
        number, mesh = self._numbers, spec.mesh
        if mesh.type == "matrices":
            if name not in self._matrices:
                place, file_at = f"bodies.{name}.flexible.mesh", self._model_file.source.file_at
                paths = {key: file_at(f"{place}.{key}", getattr(mesh, key)) for key in MATRICES}
                labels, points = self._read.nodes(paths["nodes"])
                K, M = (self._read.matrix(paths[key], labels, key) for key in ("stiffness", "mass"))
                self._matrices[name] = matrices.structure_of(points, K, M)
            return self._matrices[name]
        material = self._model_file.materials[spec.material]
        E, nu, density = map(number, (material.youngs_modulus, material.poisson_ratio, material.density))
        if mesh.type == "rectangle":
            plate = grid(number.vector(mesh.origin), number.vector(mesh.size), mesh.elements)
            return solid(plate, E, nu, density, number(mesh.thickness))
        if mesh.type == "brick":
            return solid(grid(number.vector(mesh.origin), number.vector(mesh.size), mesh.elements), E, nu, density)
        if mesh.type == "beam":
            axis = line(number.vector(mesh.origin), number(mesh.length), mesh.elements)
            return beam(axis, self._section(mesh.section), E, nu, density, mesh.planar)
        return self._from_file(mesh, E, nu, density, name)

    def _section(self, spec: Any) -> Section:
        number = self._numbers
        if spec.type == "rectangle":
            return rectangle(*number.vector(spec.size))
        if spec.type == "circle":
            if np.real(number(spec.inner_radius)) >= np.real(number(spec.radius)):
                raise Refused(("mesh", "section", "inner_radius"), "is not less than the outer radius")
            return tube(number(spec.radius), number(spec.inner_radius))
        properties = (spec.area, spec.second_moment_y, spec.second_moment_z, spec.torsion)
        return Section(*map(number, properties))

    def _from_file(self, spec: Any, E, nu, density, name: str) -> Structure:
        place = f"bodies.{name}.flexible.mesh.file"
        path = self._model_file.source.file_at(place, spec.file)
        if path not in self._files:
            self._files[path] = self._read.mesh(path)
        mesh = self._files[path]
        mesh = Mesh(mesh.points * self._numbers(spec.scale), mesh.cells, mesh.kind, groups=mesh.groups)
        if (spec.thickness is None) == (mesh.dimension == 2):
            wanted = "is missing, which a plane mesh needs" if mesh.dimension == 2 else "is for plane meshes"
            raise Refused(("mesh", "thickness"), f"the thickness {wanted}")
        thickness = 1.0 if spec.thickness is None else self._numbers(spec.thickness)
        return solid(mesh, E, nu, density, thickness)


def damping_of(stated: Any, numbers: Numbers) -> Damping:
    """Damping as stated; none where nothing is."""
    return Damping() if stated is None else Damping(*map(numbers, (stated.alpha, stated.beta, stated.ratio)))


def refused_at(model_file: ModelFile, above: str, make: Callable[[], Any]) -> Any:
    """What ``make`` returns; raise ModelError with the place in a description, ``above``, where it is refused."""
    try:
        return make()
    except Refused as refused:
        path = ".".join(map(str, (above, *refused.place)))
        raise ModelError([model_file.issue(path, refused.message, refused.hint)]) from refused
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        raise ModelError([model_file.issue(above, *beyond_numbers(error))]) from error
