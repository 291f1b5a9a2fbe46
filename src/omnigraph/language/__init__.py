"""Text in, syntax trees and canonical layout out: the schema language, the query language and what they share."""
