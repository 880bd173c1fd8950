"""Views in Dask: arrays and dataframes of any size, processed where they are. Needs dask."""
