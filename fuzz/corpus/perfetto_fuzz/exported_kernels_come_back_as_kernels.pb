
Pâ	GPU 1
Pâstream 7(
"Pâstream 7, overlapping 1(
~@dPhÚZXbK

kernelgemmgridcorrelationregisters_per_threadZ"HP"2
[16, 2, 1]" !" @
@´PhZH
J@–PhÚZXZ:H²memcpyº Memcpy HtoD (Pageable -> Device)"
Rbytes € 
@úPhZH