"""Estimators for scikit-learn: BertClassifier, BertRegressor and BertVectorizer.

   from bert_cli.sklearn import BertClassifier
   BertClassifier(num_train_epochs=3).fit(texts, labels).predict_proba(["a fine film"])

returns an array with one row per text. The tools in scikit-learn that copy, search and combine
estimators use these classes like any other.
"""

from bert_cli.sklearn.estimators import BertClassifier, BertRegressor
from bert_cli.sklearn.vectorizer import BertVectorizer

__all__ = ["BertClassifier", "BertRegressor", "BertVectorizer"]
