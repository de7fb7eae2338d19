"""What tasks remark, kept apart even if they run as threads of one process."""

import logging
import threading

from zskl import engines


def test_threads_hear_their_own_remarks_and_leave_the_logger_as_it_was():
    logger = logging.getLogger(engines.LIBRARY)
    before, meet, found = logger.propagate, threading.Barrier(3), {}

    def work(_, task):
        meet.wait()
        logging.getLogger("zskl.selection").warning("task %d", task)
        meet.wait()

    def run(task):
        _, found[task] = engines.call_and_capture(work, None, task)

    threads = [threading.Thread(target=run, args=(task,)) for task in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert {task: [one.text for one in said] for task, said in found.items()} == {k: [f"task {k}"] for k in range(3)}
    assert logger.propagate is before
