"""Many trials: schedule, play, backends, execute."""
