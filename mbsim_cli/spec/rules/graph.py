"""Joint graph: every body hangs on the ground, also when the joints that must be cut are cut."""

from collections.abc import Iterable

from mbsim_cli.spec.judging.review import GROUND, Review

_SHOWN = 6


def check(review: Review) -> None:
    """Report groups of bodies that no chain of joints connects to the ground."""
    if not review.intact("bodies") or not review.intact("joints"):
        return
    joints = review.model.joints.values()
    if any(body not in review.bodies for joint in joints for body in joint.bodies):
        return  # reported already, and the graph is not known
    loose = [
        group for group in _groups(review, (joint.bodies for joint in joints)) if not _to_be_reduced(review, group)
    ]
    for group in loose:
        _report(review, group, "is not connected to the ground by joints", "a floating joint leaves a body free")
    if not loose and any(joint.cut for joint in joints):
        for group in _groups(review, (joint.bodies for joint in joints if not joint.cut)):
            _report(review, group, "is not connected to the ground without cut joints", "cut fewer joints")


def _to_be_reduced(review: Review, group: list[str]) -> bool:
    """Whether a body stands alone that deforms: a file may describe it for ``mbsim reduce`` only."""
    return len(group) == 1 and review.model.bodies[group[0]].flexible is not None


def _report(review: Review, group: list[str], what: str, hint: str) -> None:
    others = group[1 : 1 + _SHOWN]
    more = ", ..." if len(group) > 1 + _SHOWN else ""
    also = f" (nor {'is' if len(group) == 2 else 'are'} {', '.join(others)}{more})" if others else ""
    review.report(("bodies", group[0]), f"body {group[0]!r} {what}{also}", hint, key=True)


def _groups(review: Review, pairs: Iterable[list[str]]) -> list[list[str]]:
    head = {body: body for body in (GROUND, *review.model.bodies)}

    def top(body: str) -> str:
        while head[body] != body:
            head[body] = head[head[body]]
            body = head[body]
        return body

    for a, b in pairs:
        if a in head and b in head:
            head[top(a)] = top(b)
    groups: dict[str, list[str]] = {}
    for body in review.model.bodies:
        groups.setdefault(top(body), []).append(body)
    groups.pop(top(GROUND), None)
    return list(groups.values())
