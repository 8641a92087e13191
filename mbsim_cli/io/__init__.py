"""Result files: HDF5, written while a run goes on, labelled so that h5py, xarray and MATLAB users find every axis."""
