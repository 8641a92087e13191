"""Work with a model: analyses, their objectives and diagnostics, verification, records, pictures.

Commands parse, call this and print; ``interface`` is what Python programs call.
"""
