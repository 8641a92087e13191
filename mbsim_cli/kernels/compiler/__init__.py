"""How kernels become machine code: what is compiled, kept, linked and called."""
