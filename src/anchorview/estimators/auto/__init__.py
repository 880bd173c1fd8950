"""AutoDALMC: settings, landmarks, candidates, consensus and the number of clusters."""
