"""Asks a graph what a part of the page wants to know, several questions at a time."""

import asyncio
from typing import TypeVar

from omnigraph.console.sources.protocol import GraphSource
from omnigraph.drawing.asking import Asking, Question, Rows

AnswerT = TypeVar("AnswerT")
_AT_ONCE = 4


async def answered(source: GraphSource, asking: Asking[AnswerT]) -> AnswerT:
    """Ask round by round, and return what becomes of the answers."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def ask(question: Question) -> Rows:
        async with turns:
            return (await source.query(question.text, params=question.params, at=question.at)).rows()

    try:
        questions = next(asking)
        while True:
            questions = asking.send(await asyncio.gather(*(ask(each) for each in questions)))
    except StopIteration as done:
        answer: AnswerT = done.value
        return answer
