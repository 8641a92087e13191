"""What the sensors of a random mechanism show of reactions, against the textbook twin at the same state."""

import json

import numpy as np

from mbsim_cli import assembly, spec
from mbsim_cli.errors import ModelError
from mbsim_cli.solve.forward import start
from tests.naive.joints import wrench
from tests.naive.random_mechanisms import Twin, frame_of, system_of

CLOSE = 3e-11
FREE = 1e-7  # of the largest multiplier of a null vector: what it changes is not determined


def assembled(folder, twin: Twin, **options):
    """The twin's model file, assembled; without rates where loops lock the joint that has them."""
    path = folder / f"model_{twin.seed}.yaml"
    path.write_text(json.dumps(twin.model))
    try:
        return assembly.build(spec.load(path, {}), **options)
    except ModelError as error:
        if "velocity" not in str(error) or not any("initial" in joint for joint in twin.model["joints"].values()):
            raise
    for joint in twin.model["joints"].values():
        joint.pop("initial", None)
    return assembled(folder, twin, **options)


class Shown:
    """What the sensors show at the start or after some steps, and the textbook's solution for the motion there."""

    def __init__(self, twin: Twin, problem, rows, steps=0):
        simulation = start(problem, None)
        blocks = [simulation.first_block(), *([simulation.advance(steps)] if steps else [])]
        first, last = (
            {name: block.sensors[-1, row] for name, row in rows.items()} for block in (blocks[0], blocks[-1])
        )
        self.twin, self.shown, self.time = twin, last, blocks[-1].time[-1]
        self.frame = frame_of(twin, first)
        self.system, self.motion, self.made = system_of(twin, self.frame, last)
        self.accelerations, self.multipliers = self.system.accelerations(self.time, self.motion)
        _, jacobian, _, _ = self.system.equations(self.time, self.motion, self.system.constraints)
        vectors, sizes, _ = np.linalg.svd(jacobian)
        rank = np.count_nonzero(sizes > 1e-8)
        self.free = vectors[:, rank:].T
        largest = max(1.0, *(np.abs(self.expected(name, self.multipliers)).max() for name in twin.ends))
        # near a singular position round-off of the positions counts more
        self.close = CLOSE * largest / min(1.0, *sizes[:rank]) ** 2

    def constraints_of(self, name):
        """Equations of a joint, with the motion that moves it, or of a constraint."""
        specs = self.twin.model["constraints"]
        motions = [key for key, spec in specs.items() if spec.get("coordinate", "").partition(".")[0] == name]
        return [one for key in (name, *motions) for one in self.made[key]]

    def place(self, name):
        """The point of a joint or constraint, as it is now."""
        _, b, x = self.twin.ends[name]
        k = self.frame.number[b]
        return x if k is None else self.motion.point(k, self.frame.point(b, x))

    def expected(self, name, multipliers):
        """Force and moment (6,) on the second body."""
        a, b, _ = self.twin.ends[name]
        body, sign = (b, 1.0) if b != "ground" else (a, -1.0)
        found = wrench(
            self.system, self.motion, multipliers, self.constraints_of(name), self.frame.number[body], self.place(name)
        )
        return sign * np.concatenate(found)

    def turned(self, body):
        """Rotation matrix of a body."""
        k = self.frame.number[body]
        return np.eye(3) if k is None else self.motion.R[k]

    def resolved(self, name, x):
        """The six numbers that each sensor of a reaction shows, where x is force and moment on the second body."""
        a = self.twin.ends[name][0]
        force, moment = x[:3], x[3:]
        found = {f"R_{name}": (1, np.eye(3)), f"on_{name}": (-1, self.turned(a))}
        if f"along_{name}.force" in self.shown:
            local = np.column_stack([self.frame.vector(a, u) for u in self.twin.axes[name].T])
            found[f"along_{name}"] = (1, self.turned(a) @ local)
        return {sensor: np.concatenate([s * E.T @ force, s * E.T @ moment]) for sensor, (s, E) in found.items()}

    def assert_reactions(self) -> tuple[int, int]:
        """Every component against the textbook's, or no number where it is not determined; counts of both."""
        determined = undetermined = 0
        for name in self.twin.ends:
            changes = [self.resolved(name, self.expected(name, nu)) for nu in self.free]
            for sensor, wanted in self.resolved(name, self.expected(name, self.multipliers)).items():
                shown = np.concatenate([self.shown[f"{sensor}.force"], self.shown[f"{sensor}.moment"]])
                free = np.zeros(6, bool)
                for change, nu in zip(changes, self.free, strict=True):
                    free |= np.abs(change[sensor]) > FREE * np.abs(nu).max()
                assert (np.isnan(shown) == free).all(), (self.twin.seed, sensor, shown, free)
                assert np.abs(shown - wanted)[~free].max(initial=0.0) < self.close, (self.twin.seed, sensor)
                determined, undetermined = determined + (~free).sum(), undetermined + free.sum()
        return determined, undetermined

    def assert_balance(self) -> None:
        """Forces on every body sum to mass times acceleration, moments to the rate of angular momentum."""
        sums = {k: np.zeros(6) for k in range(len(self.system.bodies))}
        for k, force, torque in self.system.loads(self.time, self.motion):
            sums[k] += np.concatenate([force, torque])
        motions = [name for name, spec in self.twin.model["constraints"].items() if spec["type"] == "motion"]
        for name in self.twin.ends:
            if name in motions:
                continue  # its joint's holds it
            x = np.concatenate([self.shown[f"R_{name}.force"], self.shown[f"R_{name}.moment"]])
            for body, sign in zip(self.twin.ends[name][:2], (-1.0, 1.0), strict=True):
                k = self.frame.number[body]
                if k is not None:
                    arm = self.place(name) - self.motion.r[k]
                    sums[k] += sign * np.concatenate([x[:3], x[3:] + np.cross(arm, x[:3])])
        for k, (name, body) in enumerate(zip(self.twin.model["bodies"], self.system.bodies, strict=True)):
            inertia = self.motion.R[k] @ body.inertia @ self.motion.R[k].T
            w, own = self.shown[f"w_{name}"], self.accelerations[k]
            if self.time == 0.0:  # later those of the integrator are only close to what the forces give
                own = np.concatenate([self.shown[f"a_{name}"], self.shown[f"aw_{name}"]])
            force, turning = body.mass * (own[:3] - self.system.gravity), own[3:]
            wanted = np.concatenate([force, inertia @ turning + np.cross(w, inertia @ w)])
            off = np.abs(sums[k] - wanted)
            assert off[~np.isnan(off)].max(initial=0.0) < self.close, (self.twin.seed, name, sums[k], wanted)

    def assert_no_work(self) -> None:
        """The reactions of ideal joints have no power on the motion that the joints allow."""
        for name in self.twin.ends:
            if len(self.constraints_of(name)) > len(self.made[name]) or name not in self.twin.kinds:
                continue  # a motion does work
            power = 0.0
            x = np.concatenate([self.shown[f"R_{name}.force"], self.shown[f"R_{name}.moment"]])
            for body, sign in zip(self.twin.ends[name][:2], (-1.0, 1.0), strict=True):
                k = self.frame.number[body]
                if k is not None:
                    rate = self.motion.v[k] + np.cross(self.motion.w[k], self.place(name) - self.motion.r[k])
                    power += sign * (x[:3] @ rate + x[3:] @ self.motion.w[k])
            assert np.isnan(power) or abs(power) < self.close, (self.twin.seed, name, power)
