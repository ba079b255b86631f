import { Search } from "lucide-react";

interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly onChange: (value: string) => void;
}

export function SearchField({ label, value, placeholder, onChange }: SearchFieldProps) {
  return (
    <label className="search-field">
      <Search size={15} aria-hidden />
      <input
        type="search"
        className="input"
        aria-label={label}
        placeholder={placeholder ?? label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}
