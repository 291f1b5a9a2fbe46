"""How Lance words the faults of an S3 store, and that it recognises its own commit when the answer gets lost.

Pins storage 17, recovery 4.7, lessons 56 and 58. Lance makes six attempts at a failed listing whatever the client
options say, so some of these tests take seconds.
"""

import lance
import pytest
from lance import LanceOperation

from support.faulty_s3 import Answer, FaultyS3, LoseAnswer, LoseRequest

pytestmark = pytest.mark.s3

AT_ONCE = {"client_max_retries": "0", "client_retry_timeout": "1"}


@pytest.fixture
def s3_table(table, s3_root, s3_faults):
    table.uri = f"{s3_root}/table"
    table.create("a")
    return table


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Answer(503, "SlowDown"), "503 Service Unavailable: .*SlowDown"),
        (Answer(500, "InternalError"), "500 Internal Server Error"),
        (Answer(429, "TooManyRequests"), "429 Too Many Requests"),
        (Answer(403, "AccessDenied"), "403 Forbidden"),
        (LoseRequest(), "HTTP error: error sending request"),
    ],
)
def test_fault_of_the_store_is_worded_by_its_status(s3_table, s3_faults: FaultyS3, fault, words):
    s3_faults.break_next(fault, times=100)

    with pytest.raises(ValueError, match=words):
        lance.dataset(s3_table.uri, storage_options=AT_ONCE, session=lance.Session())


@pytest.mark.parametrize("options", [None, AT_ONCE], ids=["with retries", "without retries"])
def test_staged_commit_whose_answer_is_lost_lands_once_and_succeeds(s3_table, s3_faults: FaultyS3, options):
    change = s3_table.transaction(1, LanceOperation.Append(s3_table.stage("b")))
    s3_faults.break_next(LoseAnswer(), method="PUT", path_contains="_versions", only_conditional=True)

    after = lance.LanceDataset.commit(s3_table.uri, change, max_retries=0, storage_options=options)

    assert after.version == 2
    assert after.read_transaction(2).uuid == change.uuid
    assert s3_table.ids() == "ab"


def test_publish_whose_answer_is_lost_lands_once_and_succeeds(s3_table, s3_faults: FaultyS3):
    s3_faults.break_next(LoseAnswer(), method="PUT", path_contains="_versions", only_conditional=True)

    s3_table.upsert(s3_table.open(), "an")

    assert s3_table.open().version == 2
    assert s3_table.ids() == "an"


def test_commit_whose_request_is_lost_fails_and_leaves_nothing(s3_table, s3_faults: FaultyS3):
    change = s3_table.transaction(1, LanceOperation.Append(s3_table.stage("b")))
    s3_faults.break_next(LoseRequest(), method="PUT", path_contains="_versions", only_conditional=True)

    with pytest.raises(OSError, match="error sending request"):
        lance.LanceDataset.commit(s3_table.uri, change, max_retries=0, storage_options=AT_ONCE)

    assert s3_table.open().version == 1
