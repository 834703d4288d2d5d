"""Workflow-GYM: Gymnasium environments in which agents do long professional jobs in real desktop applications.

Importing this package registers `workflow_gym/WorkflowGym-v0`:

    env = gymnasium.make("workflow_gym/WorkflowGym-v0", task="finance/homebank/january-ledger")
"""

import gymnasium as gym

__version__ = "0.1.0"

# A guest runs in real time while a step lasts: resets are alike to the pixel, but steps need not be.
gym.register(id="workflow_gym/WorkflowGym-v0", entry_point="workflow_gym.env:WorkflowGymEnv", nondeterministic=True)
