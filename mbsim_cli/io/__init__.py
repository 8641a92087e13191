"""Result files: HDF5, written during a run, labelled so that h5py, xarray and MATLAB users find every axis."""
