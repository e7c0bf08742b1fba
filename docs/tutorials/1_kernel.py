"""
One
===
"""
# %%
# Two
print(1)
