"""The figures that a run on a GPU has to reach, and whether one has. Without any of these a row only shows what it measured."""

# Of a program alone: microseconds a token at most.
MICROSECONDS = {"smollm2-bf16": 400}

# Beside PyTorch and what the machine can do, in the same run: at least so many times as fast, or so much of it.
RATIOS = {
    "smollm2-bf16": {"decode": 2.0},
    "llama-8b-batch1": {"decode": 1.05, "prefill": 1.0, "of the read bandwidth": 0.8, "of the rate of a product": 0.7},
    "llama-8b-batch8": {"decode": 1.1},
    "llama-8b-batch32": {"decode": 1.1},
}

# Siblings: the driver's own choice takes at most so many times as long as the fastest form. Two runs of one form differ by less.
CHOICE = 1.1


def speed(name, step):
    """Whether a step of so many seconds is fast enough, and what of that belongs in its row."""
    most = MICROSECONDS.get(name)
    if most is None:
        return True, ""
    return step * 1e6 <= most, f" (at most {most} us)"


def ratios(name, measured):
    """The same of figures by their names."""
    wanted = RATIOS.get(name, {})
    text = ", ".join(f"{what} {value:.2f}" + (f" (at least {wanted[what]})" if what in wanted else "") for what, value in measured.items())
    return all(measured.get(what, 0) >= least for what, least in wanted.items()), text


def choice(chosen, forms):
    """The same of the driver's own choice among forms, in seconds."""
    best = min(forms.values())
    return chosen <= CHOICE * best, f"the driver's own choice {chosen / best:.2f} of the faster (at most {CHOICE})"
