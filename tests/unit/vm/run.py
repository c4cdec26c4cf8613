#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tests of mrz-vm's modules that stand in this folder: run.py FOLDER_OF_MODULES"""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
tests = unittest.defaultTestLoader.discover(str(pathlib.Path(__file__).parent), pattern="test_*.py")
result = unittest.TextTestRunner(verbosity=2).run(tests)
sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)
