"""What the CPU's primitives are made of: three engines, and one way to check a launch. README.md has the sketch."""
