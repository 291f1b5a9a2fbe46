"""The only code that speaks to Lance and to object stores: addresses, tables, control objects, locks."""
