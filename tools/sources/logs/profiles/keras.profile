# Keras: keras/src/utils/progbar.py and keras/src/callbacks (progbar_logger.py, model_checkpoint.py; read at 3422977),
# and the bars of Keras 2 ([=====>....]). A bar counts the batches of the epoch that the line above it names. Other
# bars (evaluate, predict) have another total. ModelCheckpoint prints only with verbose=1.
profile keras
about   Keras (TensorFlow, JAX, PyTorch)

rule    epoch_begin
match   ^Epoch (?P<epoch1>\d+)/\d+$
example Epoch 2/30
gives   epoch=1

rule    step_end
match   ^ *(?P<step>\d+)/(?P<of>\d+) (?:(?:━)+|\[[=>.]+\]) .*- loss: 
within  epoch
example  37/500 ━━━━━━━━━━━━━━━━━━━━ 1:02 135ms/step - accuracy: 0.1312 - loss: 2.2871
gives   step=37 of=500
example 500/500 [==============================] - 64s 128ms/step - loss: 2.1021 - accuracy: 0.3105 - val_loss: 2.2010
gives   step=500 of=500

# verbose=2: a line for each epoch.
rule    step_end
match   ^(?P<step>\d+)/(?P<of>\d+) - \d+s - (?:.*- )?loss: 
within  epoch
example 500/500 - 64s - 128ms/step - accuracy: 0.3105 - loss: 2.1021
gives   step=500 of=500
example 500/500 - 64s - loss: 2.1021 - accuracy: 0.3105 - 64s/epoch - 128ms/step
gives   step=500 of=500

rule    save_end
match   ^Epoch \d+: finished saving model to 
example Epoch 2: finished saving model to /ckpt/02.keras
gives   nothing

rule    save_begin
match   ^Epoch \d+: (?:.* improved from .*, )?saving model to 
over_at next_step
example Epoch 2: saving model to /ckpt/02.keras
gives   nothing
example Epoch 2: val_loss improved from 2.20101 to 1.98012, saving model to /ckpt/best.keras
gives   nothing

unlike  10/10 ━━━━━━━━━━━━━━━━━━━━ 1s 42ms/step
unlike  Epoch 2: val_loss did not improve from 1.98012
unlike  Epoch 4: early stopping
