"""The five-bar's reference values: eight digits on which two independent solvers agree at tolerance 1e-11."""

import numpy as np

OBJECTIVES = ("psi1", "psi2", "psi3")
PARAMETERS = ("L_s1", "L_s2", "m_A1", "x_G_A1", "L_A1")
PSI = np.array([0.72687746, 7.3422878, 304.920694])
GRADIENTS = np.array(
    [
        [-4.2288109, 3.2116041, 0.31865668, 0.44235068, 3.3598099],
        [-15.452069, 50.308785, 0.97012355, 0.74560232, -27.359240],
        [221.64007, 2436.6073, -32.497523, -85.656718, -2546.5902],
    ]
)
