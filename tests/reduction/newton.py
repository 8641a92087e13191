"""Modes and static responses of a complex body by dense algebra, with nothing of what the reduction solves by."""

import numpy as np


class Newton:
    """The span of the kept modes by Newton's method from those of the real body, transposes without conjugation."""

    def __init__(self, before, system):
        self._before, self._K, self._M, self._rigid = before, system.K.toarray(), system.M.toarray(), system.rigid

    def modes(self):
        start = self._before.modes()
        k = start.shape[1]
        against = start.T @ self._before.system.M.toarray()
        V, squares = start.astype(complex), self._before.found.squares[self._before.found.kept].astype(complex)
        L = np.diag(squares)
        for _ in range(4):
            MV = self._M @ V
            residual, gram = self._K @ V - MV @ L, np.eye(k) - against @ V
            for i in range(k):
                A = np.block([[self._K - L[i, i] * self._M, -MV], [against, np.zeros((k, k))]])
                step = np.linalg.solve(A, np.concatenate([-residual[:, i], gram[:, i]]))
                V[:, i] += step[: len(V)]
                L[:, i] += step[len(V) :]
        return V

    def static(self, F):
        if not F.shape[1]:
            return F
        MR = self._M @ self._rigid
        count = MR.shape[1]
        A = np.block([[self._K, MR], [MR.T, np.zeros((count, count))]])
        return np.linalg.solve(A, np.concatenate([F, np.zeros((count, F.shape[1]))]))[: len(self._K)]
