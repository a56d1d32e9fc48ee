"""Faults that machines have, done to real commands; each module is a program to run.

python -m tests.faults.kills --kills 50
python -m tests.faults.damage
python -m tests.faults.pods --processes 1 2 4 8
python -m tests.faults.disk
python -m tests.faults.load --clients 200 --seconds 60
"""
