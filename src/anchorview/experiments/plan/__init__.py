"""What is to be run: suites, plan files, grids of settings and jobs."""
