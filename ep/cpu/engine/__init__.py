"""The engines that the CPU's primitives are made of, and the shared check of a launch. README.md is the overview."""
