"""Label the pooled documents of a plan: ask each question once, and store each answer at once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan
from operator import eq
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

import numpy as np

from trectools_plus.choices import DEFAULT_LONGEST
from trectools_plus.errors import CheckFailedError, InputError, UsageError
from trectools_plus.formats.files.appending import AppendedFile
from trectools_plus.formats.files.atomic import write_new
from trectools_plus.formats.hashing import sha256_text
from trectools_plus.judging.agreement import nan_as_null
from trectools_plus.judging.endpoint import Labeller, is_local
from trectools_plus.judging.labels import LABELS_FILE, Label, LabelOrigin, Price, Usage, read_labels
from trectools_plus.judging.plan import PlanFolder
from trectools_plus.judging.prompt import cut_text, find_relevant_level, read_grade
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import format_time, utc_now
from trectools_plus.retrieval.fetch.concurrency import call_concurrently
from trectools_plus.retrieval.source import CircuitBreaker, Failure
from trectools_plus.statistics.agreement import Agreement, cohens_kappa
from trectools_plus.text import plural, visible

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
        max_calls: Maximum number of calls, with retries; ``None`` for no limit.
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
class Repeated:
    """The agreement of a judge with itself.

    Attributes:
        pairs: The number of documents with two grades.
        equal: The proportion of equal grades.
        kappa: Cohen's kappa.
    """

    pairs: int
    equal: float
    kappa: Agreement


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
        repeated: The agreement of the judge with itself, if documents were asked twice.
        calls: The number of calls, with retries.
        seconds: The duration.
        out_of_calls: Whether the limit of calls was reached.
        failure: The failure that stopped the work, if any.
        other_models: The number of documents that another model than the requested one judged.
    """

    judge: str
    pairs: int
    grades: dict[int, int]
    missing: dict[str, int]
    left: int
    reused: int
    usage: Usage | None
    cut: int
    repeated: Repeated | None
    calls: int
    seconds: float
    out_of_calls: bool
    failure: str | None
    other_models: dict[str, int]

    def as_dict(self, price: Price | None = None) -> dict[str, Any]:
        """Return the summary as JSON, with the cost if there is a price."""
        cost = None if price is None or self.usage is None else self.usage.cost(price)
        return {
            **nan_as_null(asdict(self)),
            "usage": self.usage and self.usage.model_dump(),
            **({} if price is None else {"cost": cost}),
        }


class _OutOfCallsError(Exception):
    """The limit of calls is reached."""


class Labelling:
    """The questions for a judge that have no answer yet; holds the lock of the labels.

    Args:
        folder: The plan.
        judge: The model or function.
        options: What is asked.

    Attributes:
        questions: What is to be asked, in the plan's order of queries.
        concurrency: Maximum number of simultaneous calls.

    Raises:
        UsageError: If an option is out of range, or there are labels and ``resume`` is not set.
        InputError: If the labels cannot be written, or another process writes them.
        FormatError: If the file has other lines than labels.
    """

    def __init__(self, folder: PlanFolder, judge: Labeller, options: LabelOptions) -> None:
        _check_options(options)
        self._folder = folder
        self._judge = judge
        self._max_calls, self._calls = options.max_calls, 0
        self._lock = Lock()
        self._stopped = False
        self.concurrency = judge.concurrency
        self._origin = LabelOrigin(
            model=judge.name,
            host=judge.host,
            prompt_sha256=judge.prompt_sha256,
            parameters=dict(judge.parameters),
            longest=options.longest,
        )
        path = folder.path / LABELS_FILE
        folder.files.find(LABELS_FILE)
        self._all = list(iter_questions(folder, options, folder.plan.seed))
        self._file = AppendedFile(path, "file of labels", "judge label")
        try:
            self._file.truncate(_complete_size(path))
            known = {_key_of(label) for label in self._labels() if is_answered(label)}
            unasked = [question for question in self._all if question.key not in known]
            if known and unasked and not options.resume and folder.plan.extends is None:
                raise UsageError(
                    f"{judge.name} has answered {len(known):,} of "
                    f"{plural(len(self._all), 'question')} of this plan",
                    where=str(path),
                    remedy="add --resume to ask the others",
                )
            self._copies = _find_answers(unasked, options.reuse, self._origin)
            copied = {_key_of(label) for label in self._copies}
            self.questions = [question for question in unasked if question.key not in copied]
            self.reused = len(self._all) - len(self.questions)
        except BaseException:
            self._file.close()
            raise

    @property
    def tokens(self) -> int:
        """The approximate number of tokens of the questions, with their prompt."""
        prompt = "" if self._judge.prompt is None else self._judge.prompt.text
        texts = sum(len(one.query) + len(one.document) for one in self.questions if one.document)
        return (texts + len(prompt) * len(self.questions)) // _CHARACTERS_PER_TOKEN

    @property
    def announcement(self) -> str:
        """The announcement for the user who must agree: the calls, and their destination."""
        number = len(self.questions)
        calls = f"{plural(number, 'call')} (more if some fail)"
        if self._max_calls is not None and self._max_calls < number:
            calls = f"{calls}, of which --max-calls allows {self._max_calls:,}"
        if self.reused:
            calls = f"{calls}; {plural(self.reused, 'answer')} reused"
        host, tokens = self._judge.host, float(f"{self.tokens:.2g}")
        if host is None or is_local(f"http://{host}"):
            destination = f"stay on this machine{'' if host is None else f' ({host})'}"
        else:
            destination = f"leave this machine, for {host}"
        return (
            f"{self._judge.name}: {calls}, about {tokens:,.0f} tokens of text. Documents "
            f"{destination}."
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

        The work stops after repeated failures, and at the limit of calls.

        Raises:
            InputError: If an answer cannot be written.
        """
        started = monotonic()
        self._store_prompt()
        self._file.append(b"".join(label.as_line() for label in self._copies))
        self._copies = []
        breaker = CircuitBreaker()
        done, answered, total = 0, False, len(self.questions)
        progress("judging", done, total)
        for outcomes in call_concurrently(
            self._ask, iter(self.questions), breaker, self.concurrency, self.close
        ):
            for outcome in outcomes:
                answered = answered or outcome is None
                # Until the first answer, a failure probably concerns every question.
                lasting = outcome is not None and (outcome.lasting or not answered)
                breaker.record(None if outcome is None else replace(outcome, lasting=lasting))
            done += len(outcomes)
            progress("judging", done, total)
        return self._summarise(monotonic() - started, breaker.stopped)

    def _count_call(self) -> None:
        with self._lock:
            if self._max_calls is not None and self._calls >= self._max_calls:
                raise _OutOfCallsError
            self._calls += 1

    def _ask(self, question: Question) -> Failure | None:
        """Ask a question, and store the label; return the failure of a call."""
        if not question.document or not question.query:
            self._store(question, None, reason=_NO_TEXT)
            return None
        try:
            reply = self._judge.ask(question.query, question.document, self._count_call)
        except _OutOfCallsError:
            return Failure(_OUT_OF_CALLS, stops=True)
        if isinstance(reply, Failure):
            self._store(question, None, reason=reply.reason)
            return reply
        found = read_grade(reply.text)
        problem = reply.problem or found.problem
        answer = reply.text.encode("utf-8", "replace").decode()  # without unpaired surrogates
        reason = None if problem is None else f"{_UNREADABLE}{problem}"
        model = None if reply.model is None else visible(reply.model, _LONGEST_MODEL)
        grade = found.grade if problem is None else None
        self._store(question, grade, reason=reason, answer=answer, model=model, usage=reply.usage)
        return None

    def _store(
        self,
        question: Question,
        grade: int | None,
        *,
        reason: str | None = None,
        answer: str | None = None,
        model: str | None = None,
        usage: Usage | None = None,
    ) -> None:
        label = Label(
            query_id=question.query_id,
            doc_id=question.doc_id,
            grade=grade,
            annotator=self._judge.name,
            kind="model",
            time=format_time(utc_now()),
            reason=reason,
            origin=self._origin,
            answer=answer,
            answered_by=None if model == self._judge.name else model,
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
        labels = read_labels(self._folder.path / LABELS_FILE)
        return [label for label in labels if label.origin == self._origin]

    def _store_prompt(self) -> None:
        if self._judge.prompt is not None:
            name = f"{self._judge.prompt_sha256[:16]}.txt"
            path = self._folder.path / PROMPTS_FOLDER / name
            self._folder.files.find(f"{PROMPTS_FOLDER}/{name}")
            write_new({path: self._judge.prompt.text.encode()})

    def _summarise(self, seconds: float, stopped: Failure | None) -> LabelSummary:
        labels = {_key_of(label): label for label in self._labels()}
        found = [labels[one.key] for one in self._all if one.key in labels]
        first = [label for label in found if not label.repeat]
        missing = Counter(_kind_of(label.reason or "") for label in first if label.grade is None)
        if self._folder.plan.lacking:
            missing[_NOT_IN_CORPUS] = self._folder.plan.lacking
        grades = Counter(label.grade for label in first if label.grade is not None)
        others = Counter(label.answered_by for label in first if label.answered_by is not None)
        out_of_calls = stopped is not None and stopped.reason == _OUT_OF_CALLS
        return LabelSummary(
            judge=self._judge.name,
            pairs=self._folder.plan.pooled,
            grades=dict(sorted(grades.items())),
            missing=dict(missing.most_common()),
            left=len(self._all) - len(found),
            reused=self.reused,
            usage=_add_usage(found),
            cut=sum(label.cut for label in first),
            repeated=_compare_repeated(found),
            calls=self._calls,
            seconds=seconds,
            out_of_calls=out_of_calls,
            other_models=dict(others.most_common()),
            failure=None if stopped is None or out_of_calls else stopped.reason,
        )


_OUT_OF_CALLS = "the limit of calls is reached"
_UNREADABLE = "answer not used: "
_LONGEST_MODEL = 200


def _check_options(options: LabelOptions) -> None:
    if not 0 <= options.repeat <= 1:
        raise UsageError(f"expected a proportion from 0 to 1 but got {options.repeat}")
    for value in (options.longest, options.max_calls):
        if value is not None and value < 1:
            raise UsageError(f"expected 1 or more but got {value}")


def reads_as(label: Label) -> bool:
    """Return whether the grade of a label is that of its answer.

    A missing grade can have a reason that the answer does not show, for example an answer that the
    model did not finish.
    """
    if label.grade is None:
        is_unused = (label.reason or "").startswith(_UNREADABLE)
        return bool(label.reason) and (label.answer is None or is_unused)
    answer = label.answer
    return answer is not None and label.reason is None and read_grade(answer).grade == label.grade


def iter_questions(folder: PlanFolder, options: LabelOptions, seed: int) -> Iterator[Question]:
    """Yield all questions, first those that are asked once."""
    questions = []
    for query_id, doc_ids in folder.judgeable.items():
        for doc_id in doc_ids:
            document = folder.documents[doc_id]
            whole = f"{document.title}\n{document.text}".strip()
            text = cut_text(whole, options.longest)
            query = folder.topics[query_id].strip()
            questions.append(Question(query_id, doc_id, query, text, cut=text != whole))
    yield from questions
    if options.repeat and questions:
        # The first of one order, so that a larger proportion includes a smaller one.
        order = np.random.default_rng(seed).permutation(len(questions))
        number = max(1, round(options.repeat * len(questions)))
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


def _add_usage(labels: Iterable[Label]) -> Usage | None:
    usages = [label.usage for label in labels if label.usage is not None]
    if not usages:
        return None
    return Usage(
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
    )


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
    origins = (label.origin for label in labels if label.origin is not None)
    prompts = {origin.prompt_sha256 for origin in origins if origin.host is not None}
    texts = (read_stored_prompt(folder, sha256) for sha256 in prompts)
    return max((find_relevant_level(text) for text in texts if text is not None), default=1)


def _complete_size(path: Path) -> int:
    """Return the size of a file up to its last complete line."""
    return path.read_bytes().rfind(b"\n") + 1


def _key_of(label: Label) -> tuple[str, str, str | None, int]:
    return label.query_id, label.doc_id, label.text_sha256, label.repeat


def is_answered(label: Label) -> bool:
    """Return whether the judge answered, or never will; failed calls are made again."""
    return label.answer is not None or label.reason == _NO_TEXT


def _kind_of(reason: str) -> str:
    """Return a reason without the part that differs between documents."""
    if reason.startswith(_UNREADABLE):
        return reason.removeprefix(_UNREADABLE)
    return reason.partition(":")[0]


def _compare_repeated(labels: list[Label]) -> Repeated | None:
    """Compare the grades of documents that were asked twice."""
    grades = {(one.query_id, one.doc_id, one.repeat): one.grade for one in labels}
    pairs = [
        (query_id, grades.get((query_id, doc_id, 0)), grade)
        for (query_id, doc_id, repeat), grade in grades.items()
        if repeat
    ]
    graded = [pair for pair in pairs if None not in pair]
    if not graded:
        return None
    queries, first, again = zip(*graded, strict=True)
    kappa = cohens_kappa(first, again, categories=range(4), clusters=queries)
    equal = sum(map(eq, first, again)) / len(graded)
    return Repeated(len(graded), equal, kappa)


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


def describe_labels(summary: LabelSummary, price: Price | None = None) -> str:
    """Return the result in a sentence."""
    grades = ", ".join(f"grade {grade}: {count:,}" for grade, count in summary.grades.items())
    labelled = f"{sum(summary.grades.values()):,} of {plural(summary.pairs, 'pair')}"
    usage, again = summary.usage, summary.repeated
    if price is None or usage is None:
        cost = "" if price is None else "cost: unknown, because the service counts no tokens"
    else:
        cost = f"cost {usage.cost(price):,.4f}"
    parts = [
        f"{summary.judge} labelled {labelled}{f' ({grades})' if grades else ''}",
        _listed("answered by another model than requested", summary.other_models),
        _listed("missing", summary.missing),
        summary.left
        and f"not asked yet: {summary.left:,}{' (--max-calls)' if summary.out_of_calls else ''}",
        summary.reused and f"reused: {plural(summary.reused, 'answer')}",
        usage
        and f"tokens: {usage.prompt_tokens:,} of questions, {usage.completion_tokens:,} of answers",
        cost,
        summary.cut and f"cut: {plural(summary.cut, 'document')}",
        again
        and f"asked twice: {plural(again.pairs, 'pair')}, {again.equal:.0%} equal, kappa "
        + ("undefined" if isnan(again.kappa.value) else f"{again.kappa.value:.2f}"),
        f"{plural(summary.calls, 'call')} in {summary.seconds:.0f} s.",
    ]
    return "; ".join(part for part in parts if part)


def _listed(what: str, counts: Mapping[str, int]) -> str:
    return f"{what}: {', '.join(f'{n:,} ({name})' for name, n in counts.items())}" if counts else ""
