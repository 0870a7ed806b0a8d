"""Sessions: readers of transcripts, judge, distilling."""
