"""A Messages API on loopback: any function from `Request` to `Reply` behind HTTP, with faults where they are asked for."""
