"""Kernels as machine code: compiled, kept, linked and called. To be read in this order:

``jit`` has the decorators of kernels. It takes them from ``entry``, or from ``plain``, as ``choice`` says.
``entry``: what Python calls. Types of the arguments choose a compiled form, which is in the store or has to be made.
``arguments``: all that is given as one structure of C. ``image``: machine code in memory, and how objects are linked.
``store``: folders and files of what is kept. ``installed``: versions, settings and processors that it depends on.
``watch``: the stores of this process, who is told what it compiles, and the second process that compiles beside it.
``compiling``: how entries and the kernels below them are made by numba, kept, and found again. ``linking``: how each
kernel is optimised, and passed groups of arrays. ``simd_compiled``: how directions and cases of ``simd``, which run as
Python too, become vector instructions. These three alone need what numba's manual does not describe, and load numba.
``probe`` finds out whether another version of numba still gives what they need.
"""
