"""The process: settings before TensorFlow is imported, background imports, stop signals,
rendezvous, cluster, memory.
"""
