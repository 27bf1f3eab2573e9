"""A two-layer perceptron with momentum, in plain Python: the same numbers on every machine and after every resume."""

import math
import random
from typing import Dict, List

INPUTS, HIDDEN, BATCH = 4, 8, 16
RATE, MOMENTUM = 0.05, 0.9


class Model:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        draw = random.Random(seed)
        size = HIDDEN * (INPUTS + 1) + HIDDEN + 1
        self.weights: List[float] = [draw.uniform(-0.5, 0.5) for _ in range(size)]
        self.velocity: List[float] = [0.0] * size

    def state(self) -> Dict:
        """A copy: an asynchronous save must not see later steps."""
        return {"seed": self.seed, "weights": list(self.weights), "velocity": list(self.velocity)}

    def load(self, state: Dict) -> None:
        self.seed, self.weights, self.velocity = state["seed"], state["weights"], state["velocity"]

    def train(self, step: int) -> float:
        """One optimizer step on the batch of that step; its mean squared error before the update."""
        draw = random.Random(self.seed * 1_000_003 + step)
        gradient = [0.0] * len(self.weights)
        loss = 0.0
        for _ in range(BATCH):
            x = [draw.uniform(-1, 1) for _ in range(INPUTS)]
            loss += self._backward(x, math.sin(x[0] + x[1]) * x[2] - x[3], gradient)
        for i, g in enumerate(gradient):
            self.velocity[i] = MOMENTUM * self.velocity[i] - RATE * g / BATCH
            self.weights[i] += self.velocity[i]
        return loss / BATCH

    def _backward(self, x: List[float], target: float, gradient: List[float]) -> float:
        w, row, out = self.weights, INPUTS + 1, HIDDEN * (INPUTS + 1)
        hidden = [math.tanh(w[h * row + INPUTS] + sum(w[h * row + i] * x[i] for i in range(INPUTS)))
                  for h in range(HIDDEN)]
        error = w[out + HIDDEN] + sum(w[out + h] * hidden[h] for h in range(HIDDEN)) - target
        gradient[out + HIDDEN] += 2 * error
        for h in range(HIDDEN):
            gradient[out + h] += 2 * error * hidden[h]
            inner = 2 * error * w[out + h] * (1 - hidden[h] ** 2)
            gradient[h * row + INPUTS] += inner
            for i in range(INPUTS):
                gradient[h * row + i] += inner * x[i]
        return error * error
