"""The log of the package, and levels of its lines besides the levels of `logging`: --quiet leaves
warnings and results.
"""

import logging

LOG = logging.getLogger("bert_cli")
RESULT = 25  # between logging.INFO and logging.WARNING: metrics, which --quiet keeps
EXAMPLES = {False: 2, True: 5}  # examples of a split that the log shows, by whether --verbose asks for more
