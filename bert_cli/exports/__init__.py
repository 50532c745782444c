"""Models in other forms: conversion, SavedModel, tensorflow-hub, ONNX."""
