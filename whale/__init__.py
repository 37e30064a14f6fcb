"""The recipe: rollouts, engines, harness hosting, learners, harness search, schedules, store."""
