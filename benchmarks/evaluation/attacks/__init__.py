"""The poisoning suite: what attackers try, on the real product, with its defences off and on (issue 4, DESIGN D10)."""
