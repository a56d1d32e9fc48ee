"""Heads: modules over an encoder's `States`, which belong to no system.

Every head maps (states, tables, inputs of its own by name) to a dictionary of outputs named as in
Hugging Face, and has `loss(outputs, labels...)`. Class attributes describe its needs:

  kind      its name, by which a system finds the class in config.json
  entities  how many entities each text must have; in a system of words only, their first words
  places    inputs with the places of entities: "entity_start_positions" and the like
  choices   true where every input has an axis of choices after the batch

A head may also have:

  shared      inputs of the encoder that it reads too, where they are given
  own_inputs  shapes, after the batch, of numbers that only it reads, by name
  once        those of them that the texts of a batch share, with any number of rows
"""
