from bert_cli.api.classifier import Classifier as Classifier
from bert_cli.api.classifier import Ensemble as Ensemble
from bert_cli.api.comparison import compare as compare
from bert_cli.api.feature_extractor import FeatureExtractor as FeatureExtractor
from bert_cli.api.mask_filler import MaskFiller as MaskFiller
from bert_cli.api.question_answerer import QuestionAnswerer as QuestionAnswerer
from bert_cli.api.tagger import Tagger as Tagger
from bert_cli.api.tokenizer import Tokenizer as Tokenizer
from bert_cli.api.watching import Callback as Callback

__version__: str
