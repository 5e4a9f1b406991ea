// SPDX-License-Identifier: Apache-2.0
// Buttons of which one is pressed.

export interface Choice<Value> {
  value: Value;
  label: string;
  disabled?: boolean;
}

interface Props<Value> {
  choices: Choice<Value>[];
  chosen: Value;
  onChoose: (value: Value) => void;
}

export function Toggle<Value extends string>({ choices, chosen, onChoose }: Props<Value>) {
  return (
    <>
      {choices.map(({ value, label, disabled }) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === chosen}
          disabled={disabled}
          onClick={() => onChoose(value)}
        >
          {label}
        </button>
      ))}
    </>
  );
}
