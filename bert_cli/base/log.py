"""How important a line of the log is, beside the levels of `logging`: --quiet leaves warnings and results."""

RESULT = 25  # between logging.INFO and logging.WARNING: metrics, which --quiet keeps
EXAMPLES = {False: 2, True: 5}  # examples of a split that the log shows, by whether --verbose asks for more
