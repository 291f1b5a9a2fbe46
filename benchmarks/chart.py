"""The picture of the figures: how each compares with the raw library."""

from pathlib import Path

from benchmarks.figures import Figure

_OURS, _GOAL, _INK, _FAINT = "#2f6f8f", "#c8553d", "#22313a", "#d5dde1"


def draw(figures: list[Figure], path: Path) -> None:
    """Draw one bar per figure on a logarithmic scale: to the left of the line is faster than the raw library."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    compared = [(figure, figure.ratio) for figure in figures if figure.ratio is not None]
    height = 0.42 * len(compared) + 1.4
    canvas, axes = plt.subplots(figsize=(10, height), dpi=130)
    places = range(len(compared))
    axes.barh(places, [ratio - 1 for _, ratio in compared], left=1, height=0.55, color=_OURS, zorder=2)
    for place, (figure, ratio) in zip(places, compared, strict=True):
        is_slower = ratio >= 1
        axes.annotate(
            f"{ratio:.2f}× ({figure.spell(figure.ours)})",
            (ratio, place),
            xytext=(5 if is_slower else -5, 0),
            textcoords="offset points",
            ha="left" if is_slower else "right",
            va="center",
            fontsize=8,
            color=_INK,
        )
        if figure.goal is not None:
            axes.plot([figure.goal] * 2, [place - 0.36, place + 0.36], color=_GOAL, linewidth=2, zorder=3)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    low, high = axes.get_xlim()
    axes.set_xlim(low / 4, high * 4)
    axes.set_yticks(places, [figure.what.replace("`", "") for figure, _ in compared], fontsize=8, color=_INK)
    axes.invert_yaxis()
    axes.axvline(1, color=_INK, linewidth=1, zorder=3)
    axes.grid(axis="x", color=_FAINT, linewidth=0.6, zorder=0)
    axes.tick_params(axis="x", labelsize=8, colors=_INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel("OmniGraph ÷ what it is compared with, by time (red: the goal)", fontsize=8, color=_INK)
    canvas.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(path, metadata={"Software": None})
    plt.close(canvas)
