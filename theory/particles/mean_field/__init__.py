"""What many particles tend to: Gaussian laws, fluctuations, and the free energy of noisy attention."""
