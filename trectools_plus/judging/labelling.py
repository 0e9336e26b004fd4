"""Label the pooled documents of a plan: ask each question once, and store each answer at once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from trectools_plus.choices import DEFAULT_LONGEST
from trectools_plus.display import Progress, no_progress
from trectools_plus.errors import CheckFailedError, InputError, UsageError
from trectools_plus.formats.files.atomic import AppendedFile, write_new
from trectools_plus.formats.hashing import sha256_text
from trectools_plus.judging.endpoint import (
    Labeller,
    Reply,
    cut_text,
    find_relevant_level,
    is_local,
    read_grade,
)
from trectools_plus.judging.labels import (
    LABELS_FILE,
    Label,
    LabelOrigin,
    Price,
    Usage,
    read_labels,
)
from trectools_plus.judging.plan import PlanFolder
from trectools_plus.models import format_time, utc_now
from trectools_plus.retrieval.calls import call_concurrently
from trectools_plus.retrieval.source import CircuitBreaker, Failure
from trectools_plus.text import plural

PROMPTS_FOLDER = "prompts"
_CHARACTERS_PER_TOKEN = 4
_NOT_IN_CORPUS = "not in the corpus"
_NO_TEXT = "no text"


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """Settings of the questions.

    Attributes:
        longest: The number of characters of a document after which it is cut.
        repeat: The proportion of the documents that is asked twice, 0 to 1.
        max_calls: Maximum number of questions to ask now; ``None`` for no limit.
        resume: Whether to continue labels of the same judge.
        reuse: The folders of other plans, whose answers to the same questions are reused.
    """

    longest: int = DEFAULT_LONGEST
    repeat: float = 0.0
    max_calls: int | None = None
    resume: bool = False
    reuse: Sequence[str | Path] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A pooled document that is to be judged.

    Attributes:
        query_id: The query.
        doc_id: The document.
        query: The text of the query.
        document: The title and text of the document, cut if they are too long.
        cut: Whether they are cut.
        repeat: 1 if the question is asked to measure agreement.
    """

    query_id: str
    doc_id: str
    query: str
    document: str
    cut: bool
    repeat: int = 0

    @property
    def text_sha256(self) -> str:
        """SHA-256 of both texts."""
        return sha256_text(f"{self.query}\0{self.document}")

    @property
    def key(self) -> tuple[str, str, str | None, int]:
        """The identity of an answer of the same judge."""
        return self.query_id, self.doc_id, self.text_sha256, self.repeat


@dataclass(frozen=True, slots=True)
class LabelSummary:
    """The labels of a judge, and the work of one call of :meth:`Labelling.run`.

    Attributes:
        judge: The model or function.
        pairs: The number of pooled documents.
        grades: The number of documents with each grade.
        missing: The number of documents without a grade, by reason.
        left: The number of questions that were not asked.
        reused: The number of questions that had an answer before, here or in another plan.
        usage: The tokens of all answers of this judge in the plan, if the service counts them.
        cut: The number of documents that were cut.
        calls: The number of questions that were asked now.
        failure: The failure that stopped the work, if any.
    """

    judge: str
    pairs: int
    grades: dict[int, int]
    missing: dict[str, int]
    left: int
    reused: int
    usage: Usage | None
    cut: int
    calls: int
    failure: str | None

    def as_dict(self, price: Price | None = None) -> dict[str, Any]:
        """Return the summary as JSON, with the cost if there is a price."""
        usage = self.usage
        cost = {} if price is None else {"cost": usage and usage.cost(price)}
        return {**asdict(self), "usage": usage and usage.model_dump(), **cost}


class Labelling:
    """The questions for a judge that have no answer yet; holds the lock of the labels.

    Args:
        folder: The plan.
        judge: The model or function.
        options: What is asked.

    Attributes:
        questions: What is to be asked, in the plan's order of queries.
        reused: The number of questions that had an answer before, here or in another plan.

    Raises:
        UsageError: If there are labels and ``resume`` is not set.
        InputError: If the labels cannot be written, or another process writes them.
        FormatError: If the file has other lines than labels.
    """

    def __init__(self, folder: PlanFolder, judge: Labeller, options: LabelOptions) -> None:
        self._folder, self._judge = folder, judge
        self._lock, self._stopped = Lock(), False
        self._origin = judge.origin.model_copy(update={"longest": options.longest})
        self._path = folder.path / LABELS_FILE
        folder.files.find(LABELS_FILE)
        self._all = list(iter_questions(folder, options.longest, options.repeat))
        self._file = AppendedFile(self._path, "file of labels", "judge label")
        try:
            self._file.truncate(self._path.read_bytes().rfind(b"\n") + 1)
            known = {label.key for label in self._labels() if is_answered(label)}
            unasked = [question for question in self._all if question.key not in known]
            if known and unasked and not options.resume and folder.plan.extends is None:
                raise UsageError(
                    f"{self._origin.model} has answered {len(known):,} of "
                    f"{plural(len(self._all), 'question')} of this plan",
                    where=str(self._path),
                    remedy="add --resume to ask the others",
                )
            self._copies = _find_answers(unasked, options.reuse, self._origin)
            copied = {label.key for label in self._copies}
            new = [question for question in unasked if question.key not in copied]
            self.reused = len(self._all) - len(new)
            self.questions = new[: options.max_calls]
        except BaseException:
            self._file.close()
            raise

    @property
    def announcement(self) -> str:
        """The announcement for the user who must agree: the calls, and their destination."""
        prompt = self._judge.prompt.text if self._judge.prompt else ""
        length = sum(
            len(prompt + question.query + question.document) for question in self.questions
        )
        tokens, host = float(f"{length / _CHARACTERS_PER_TOKEN:.2g}"), self._origin.host
        is_here = host is None or is_local(f"http://{host}")
        destination = "stay on this machine" if is_here else f"leave this machine, for {host}"
        return (
            f"{self._origin.model}: {plural(len(self.questions), 'call')} (more if some fail); "
            f"answers reused: {self.reused:,}; about {tokens:,.0f} tokens. "
            f"Documents {destination}."
        )

    def close(self) -> None:
        """Release the lock of the labels, and end calls that wait for a retry."""
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._file.close()
        self._judge.close()

    def run(self, progress: Progress = no_progress) -> LabelSummary:
        """Ask all questions, and store each answer before its thread asks the next one.

        The work stops after repeated failures.

        Raises:
            InputError: If an answer cannot be written.
        """
        self._store_prompt()
        self._file.append(b"".join(label.as_line() for label in self._copies))
        self._copies = []
        breaker = CircuitBreaker()
        done, answered, total = 0, False, len(self.questions)
        progress("judging", done, total)
        for outcomes in call_concurrently(
            self._ask, iter(self.questions), breaker, self._judge.concurrency, self.close
        ):
            for failure in outcomes:
                answered = answered or failure is None
                # Until the first answer, a failure probably concerns every question.
                breaker.record(
                    failure and replace(failure, lasting=failure.lasting or not answered)
                )
            done += len(outcomes)
            progress("judging", done, total)
        return self._summarise(done, breaker.stopped)

    def _ask(self, question: Question) -> Failure | None:
        """Ask a question, and store the label; return the failure of a call."""
        if not question.document or not question.query:
            self._store(question, _NO_TEXT)
            return None
        reply = self._judge.ask(question.query, question.document)
        if isinstance(reply, Failure):
            self._store(question, reply.reason)
            return reply
        self._store(question, None, reply)
        return None

    def _store(self, question: Question, reason: str | None, reply: Reply | None = None) -> None:
        grade = answer = usage = None
        if reply is not None:
            grade, problem = read_grade(reply.text)
            problem = reply.problem or problem
            reason = None if problem is None else f"{_UNREADABLE}{problem}"
            answer = reply.text.encode("utf-8", "replace").decode()  # without unpaired surrogates
            usage = reply.usage
        label = Label(
            query_id=question.query_id,
            doc_id=question.doc_id,
            grade=grade if reason is None else None,
            annotator=self._origin.model,
            kind="model",
            time=format_time(utc_now()),
            reason=reason,
            origin=self._origin,
            answer=answer,
            cut=question.cut,
            repeat=question.repeat,
            text_sha256=question.text_sha256,
            usage=usage,
        )
        with self._lock:
            if not self._stopped:  # otherwise the call was interrupted
                self._file.append(label.as_line())

    def _labels(self) -> list[Label]:
        """Return the labels of this judge."""
        return [label for label in read_labels(self._path) if label.origin == self._origin]

    def _store_prompt(self) -> None:
        if self._judge.prompt is not None:
            name = f"{PROMPTS_FOLDER}/{self._origin.prompt_sha256[:16]}.txt"
            self._folder.files.find(name)
            write_new({self._folder.path / name: self._judge.prompt.text.encode()})

    def _summarise(self, calls: int, stopped: Failure | None) -> LabelSummary:
        by_key = {label.key: label for label in self._labels()}
        labels = [by_key[question.key] for question in self._all if question.key in by_key]
        first = [label for label in labels if not label.repeat]
        # Reasons of failed calls end with what differs between documents.
        missing = Counter(
            (label.reason or "").removeprefix(_UNREADABLE).partition(":")[0]
            for label in first
            if label.grade is None
        )
        missing += Counter({_NOT_IN_CORPUS: self._folder.plan.lacking})
        grades = Counter(label.grade for label in first if label.grade is not None)
        return LabelSummary(
            judge=self._origin.model,
            pairs=self._folder.plan.pooled,
            grades=dict(sorted(grades.items())),
            missing=dict(missing.most_common()),
            left=len(self._all) - len(labels),
            reused=self.reused,
            usage=Usage.total(label.usage for label in labels),
            cut=sum(label.cut for label in first),
            calls=calls,
            failure=None if stopped is None else stopped.reason,
        )


_UNREADABLE = "answer not used: "


def reads_as(label: Label) -> bool:
    """Return whether the grade of a label is that of its answer.

    A missing grade can have a reason that the answer does not show, for example an answer that the
    model did not finish.
    """
    answer, reason = label.answer, label.reason or ""
    if label.grade is None:
        return bool(reason) and (answer is None or reason.startswith(_UNREADABLE))
    return answer is not None and not reason and read_grade(answer).grade == label.grade


def iter_questions(folder: PlanFolder, longest: int, repeat: float = 0.0) -> Iterator[Question]:
    """Yield all questions, first those that are asked once."""
    questions = []
    for query_id, doc_ids in folder.judgeable.items():
        for doc_id in doc_ids:
            document = folder.documents[doc_id]
            whole = f"{document.title}\n{document.text}".strip()
            text = cut_text(whole, longest)
            query = folder.topics[query_id].strip()
            questions.append(Question(query_id, doc_id, query, text, cut=text != whole))
    yield from questions
    if repeat and questions:
        # The first of one order, so that a larger proportion includes a smaller one.
        order = np.random.default_rng(folder.plan.seed).permutation(len(questions))
        number = max(1, round(repeat * len(questions)))
        for place in sorted(order[:number].tolist()):
            yield replace(questions[place], repeat=1)


def _find_answers(
    questions: Sequence[Question], plans: Sequence[str | Path], origin: LabelOrigin
) -> list[Label]:
    """Return answers of the same judge to the same texts in other plans, as labels of this one.

    Raises:
        InputError: If a folder has no plan.
        FormatError: If its labels cannot be read.
    """
    answers = {
        (label.text_sha256, label.repeat): label
        for plan in plans
        for label in read_labels(PlanFolder(plan).path / LABELS_FILE)
        if label.origin == origin and label.answer is not None and reads_as(label)
    }
    return [
        answers[question.key[2:]].model_copy(
            update={"query_id": question.query_id, "doc_id": question.doc_id, "cut": question.cut}
        )
        for question in questions
        if question.key[2:] in answers
    ]


def read_stored_prompt(folder: PlanFolder, sha256: str) -> str | None:
    """Return the prompt of a model; ``None`` if it is not in the plan, or has changed.

    Raises:
        InputError: If the file is a link out of the folder.
    """
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        return None
    path = folder.files.find(f"{PROMPTS_FOLDER}/{sha256[:16]}.txt")
    text = None if path is None else path.read_bytes().decode(errors="replace")
    return text if text is not None and sha256_text(text) == sha256 else None


def relevant_level(folder: PlanFolder, labels: Iterable[Label]) -> int:
    """Return the lowest grade that the prompts of some labels call relevant; 1 if none does."""
    prompts = {label.judge.prompt_sha256 for label in labels if label.judge.host is not None}
    texts = (read_stored_prompt(folder, sha256) or "" for sha256 in prompts)
    return max(map(find_relevant_level, texts), default=1)


def is_answered(label: Label) -> bool:
    """Return whether the judge answered, or never will; failed calls are made again."""
    return label.answer is not None or label.reason == _NO_TEXT


def raise_if_stopped(summary: LabelSummary) -> None:
    """Raise an error if failures stopped the work.

    Raises:
        InputError: If no document has an answer.
        CheckFailedError: If some have.
    """
    if summary.failure is None:
        return
    kind = CheckFailedError if summary.grades else InputError
    raise kind(
        f"stopped: {summary.failure}",
        where=summary.judge,
        remedy="when the judge answers again, continue with --resume",
    )
