# torchtune: recipes/*_distributed.py and torchtune/training/checkpointing/_checkpoint_client.py (read at bd2a0fc).
# The description of the bar has epoch, steps done in the whole run, and loss; the bar itself counts within an epoch.
profile torchtune
about   torchtune

rule    step_end
match   (?:^|[^\d|])\d+\|(?P<step>\d+)\|Loss: [-\d.naife]+:
example 1|40|Loss: 1.203125:  39%|███▉      | 40/102 [10:12<15:49, 15.31s/it]
gives   step=40
example 2|120|Loss: 0.81:  18%|█▊        | 18/102 [04:36<21:26, 15.32s/it]
gives   step=120

rule    save_begin
match   Saving checkpoint\. This may take some time\.
over_at next_step
example Saving checkpoint. This may take some time. Retrieving full model state dict...
gives   nothing

rule    save_end
match   Saving checkpoint took (?P<took_s>[\d.]+) secs
example Saving checkpoint took 41.25 secs
gives   took_s=41.25

unlike  100%|██████████| 102/102 [25:38<00:00, 15.06s/it]
