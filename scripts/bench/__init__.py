"""The parts of `scripts/bench_machines`: what is measured, each in a module of its own."""
