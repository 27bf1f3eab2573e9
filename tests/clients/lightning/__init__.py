"""A small stand-in for Lightning: the order in which its Trainer calls hooks, and nothing else of it."""
