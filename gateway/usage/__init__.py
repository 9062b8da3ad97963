"""What was used up, by whom, and what may be: entries, sums, quotas."""
